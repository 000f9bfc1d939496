import { once } from 'node:events'
import type { Command } from '@commander-js/extra-typings'
import { InvalidArgumentError } from '../errors/index.ts'
import { redact } from '../errors/redact.ts'
import type { FaultRule, RecordedRequest, Sandbox, SandboxOptions } from '../sandbox/index.ts'
import { parseObject } from '../shared/json.ts'
import { programName, usage } from './errors.ts'
import { collect, type OptionsOf } from './options.ts'
import type { Terminal } from './terminal.ts'

const faultHelp = `
A fault is a list of options, separated by commas:
  status=503             respond with this status; add retry-after=30, or effect
                         if the request takes effect
  drop=after-effect      drop the connection: before-effect, after-effect,
                         mid-headers or mid-body
  truncate, garbage      cut off the body; respond with a page of HTML
  stall                  send half of the body, and then nothing
  drip=16/500            send the body in chunks of 16 bytes, 500 ms apart
  latency=2000           delay the response by 2000 ms
  late-effect=5000       let a request that failed take effect 5000 ms later;
                         with status or drop=before-effect
  method=POST            apply only to requests with this method
  path=/messages         apply only to paths that end with this text
  times=2                apply to this many requests, or to all (default: 1)
  after=3                let this many matching requests through first
  probability=0.1        apply to one of ten, chosen by seed=1
`

const declareSandbox = (program: Command) =>
  program
    .command('sandbox')
    .description('start a local imitation of the service for development and tests, with a console at its address')
    .argument('[message...]', 'write into the sandbox on --port: receive or answer, a conversation id, and a text')
    .option('--port <number>', 'port to listen on; 0 picks a free one', number, 4010)
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--allowed-host <host>', 'name or address that other machines use; can be repeated', collect, [])
    .option('--self-token <token>', 'token that acts as a person, such as swot_self (default: random)')
    .option('--app-token <token>', 'token that acts as the app, such as swot_app (default: random)')
    .option('--client-id <id>', 'client id of the app (default: app_sandbox)')
    .option('--client-secret <secret>', 'client secret of the app (default: secret_sandbox)')
    .option('--redirect-uri <uri>', 'register another redirect URI; can be repeated', collect, [])
    .option('--auto-consent <decision>', 'skip the consent page: allow or deny access')
    .option('--organizations <number>', 'number of organizations, up to 100000 (default: 2)', number)
    .option('--conversations <number>', 'number of conversations in each organization (default: 120)', number)
    .option('--messages-per-conversation <number>', 'number of messages in each conversation (default: 3)', number)
    .option('--seed <number>', 'select the sample data; the same seed produces the same data (default: 24301)', number)
    .option('--rate-limit <limit>', 'respond with 429 above this rate: 100/min, 5/s or 1000/h (default: no limit)')
    .option('--fault <fault>', 'inject a fault, see below; can be repeated', collect, [])
    .option('--cors', 'let pages of every origin read responses (default: only pages on this machine)')
    .option('--no-cors', 'send no CORS headers')
    .option('--member <id>', 'membership id of the colleague for answer (default: the first agent)')
    .option('--log', 'print a line for each request')
    .addHelpText('after', faultHelp)

type Flags = OptionsOf<typeof declareSandbox>

/** Adds `sandbox`, which imitates the service until it is interrupted. */
export function addSandbox(program: Command, terminal: Terminal): void {
  declareSandbox(program).action((message, flags) =>
    message.length > 0 ? write(message, flags, terminal) : serve(flags, terminal),
  )
}

async function serve(flags: Flags, terminal: Terminal): Promise<void> {
  const {
    allowedHost,
    selfToken: self,
    appToken: app,
    clientId,
    clientSecret,
    redirectUri,
    fault,
    log,
    member: _,
    ...rest
  } = flags
  // Its web server is loaded for this command alone.
  const { parseFault, startSandbox } = await import('../sandbox/index.ts')
  const faults = fault.map((text) => readFault(text, parseFault))
  const { signal } = terminal.io
  const options = {
    ...rest,
    allowedHosts: allowedHost,
    tokens: { self, app },
    app: { clientId, clientSecret },
    ...(log && {
      onRequest: (request: RecordedRequest) =>
        void terminal.print(logLine(request)).catch(() => terminal.io.interrupt()),
    }),
  } as SandboxOptions
  try {
    await using sandbox = await startSandbox(options)
    for (const uri of redirectUri) sandbox.registerRedirectUri(uri)
    for (const rule of faults) sandbox.faults.add(rule)
    const tokens = { self: self ?? sandbox.issueToken({ actor: 'self' }), app: app ?? sandbox.issueToken() }
    await terminal.print(welcome(sandbox, tokens, terminal.io.platform))
    if (!signal.aborted) await once(signal, 'abort')
  } catch (thrown) {
    throw thrown instanceof InvalidArgumentError ? asFlag(thrown) : thrown
  }
}

/** Writes as the customer or as a colleague into the sandbox that another process runs. */
async function write(words: readonly string[], { host, port, member }: Flags, terminal: Terminal): Promise<void> {
  const [action, conversation = '', text = '', ...more] = words
  if ((action !== 'receive' && action !== 'answer') || text === '' || more.length > 0) {
    throw usage(
      'The message needs `receive` or `answer`, a conversation id and a text.',
      `For example: ${programName} sandbox answer cnv_1 "Refunded."`,
    )
  }
  const url = `http://${host ?? '127.0.0.1'}:${port}`
  const as = action === 'answer' ? 'colleague' : 'customer'
  const body = new URLSearchParams({ as, conversation, text, ...(member !== undefined && { member }) })
  const ended = terminal.io.signal
  const signal = AbortSignal.any([ended, AbortSignal.timeout(30_000)])
  const init: RequestInit = { method: 'POST', body, redirect: 'manual', signal }
  const response = await fetch(`${url}/_sandbox/messages`, init).catch(() => {
    ended.throwIfAborted()
    throw usage(`No sandbox listens on ${url}.`, 'Start one, or pass its --port and --host.')
  })
  if (response.status !== 303) {
    const text = await response.text().catch(() => ended.throwIfAborted())
    const problem = parseObject(text)?.error_description
    throw usage(typeof problem === 'string' ? redact(problem) : `${url} is no sandbox.`, 'Correct it, and write again.')
  }
  await terminal.print(`The ${as} wrote in ${conversation}.\n`)
}

/** Reads a number. Other text stays text, which the check of the option then quotes. */
function number(text: string): number {
  return (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text) as number
}

const flagNames: Readonly<Record<string, string>> = {
  self: 'self-token',
  app: 'app-token',
  allowedHosts: 'allowed-host',
  uri: 'redirect-uri',
}

/** Names the flags in the sandbox's message about an option: "`rateLimit` must be …". */
function asFlag(error: InvalidArgumentError): Error {
  const problem = problemOf(error).replace(/`(\w+)`/g, (_, name: string) => {
    return `--${flagNames[name] ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  })
  return usage(problem, 'Run it with --help to list the options.')
}

/** Returns a message without its hint, and without the kind of what was typed, which is always text. */
function problemOf({ message, hint }: Pick<InvalidArgumentError, 'message' | 'hint'>): string {
  return message.replace(` ${hint}`, '').replace(/, not an? [\w ]+\.$/, '.')
}

function readFault(text: string, parse: (text: string) => FaultRule): FaultRule {
  try {
    return parse(text)
  } catch (thrown) {
    if (!(thrown instanceof InvalidArgumentError)) throw thrown
    throw usage(
      `--fault ${JSON.stringify(text)} is invalid. ${problemOf(thrown)}`,
      'Run it with --help to list the options.',
    )
  }
}

/** Returns a request as one line, without its headers, query and body, which can hold secrets. */
function logLine({ at, method, path, status, actor, scope, fault, ignored }: RecordedRequest): string {
  const time = new Date(at).toTimeString().slice(0, 8)
  const unknown = ignored.length > 0 ? `ignored: ${ignored.join(', ')}` : undefined
  const columns = [time, status ?? '---', method.padEnd(6), path, actor, scope, fault && `[${fault}]`, unknown]
  return `${columns.filter((column) => column !== undefined).join('  ')}\n`
}

function welcome({ app, url }: Sandbox, tokens: { self: string; app: string }, platform: string): string {
  const set = (name: string, value: string) =>
    platform === 'win32' ? `$env:${name} = '${value}'` : `export ${name}=${value}`
  return `The sandbox is listening on ${url}

  console            ${url}/
  client id          ${app.clientId}
  client secret      ${app.clientSecret}
  redirect URIs      ${app.redirectUris.join('\n                     ')}
  token, actor=app   ${tokens.app}
  token, actor=self  ${tokens.self}

Open the console in a browser. Programs and commands use the sandbox in every terminal where you paste these two lines:

  ${set('SUPPORT_WORKSPACE_URL', url)}
  ${set('SUPPORT_WORKSPACE_TOKEN', tokens.self)}

Press Ctrl+C to stop.
`
}
