import { parseArgs } from 'node:util'
import type { Check } from './check-values.ts'
import type { FaultRule } from './faults/fault.ts'
import { parseFault } from './faults/fault-text.ts'
import type { SandboxOptions } from './sandbox-options.ts'
import { defaultRedirectUris, optionChecks, redirectUriCheck, tokenCheck } from './sandbox-settings.ts'

export const help = `Usage: support-workspace-sdk sandbox [options]

Starts a local copy of the service for development and tests, with a console at its address.

Options:
  --port <number>            Port to listen on; 0 picks a free one (default: 4010)
  --host <address>           Address to listen on (default: 127.0.0.1)
  --self-token <token>       Token that acts as a person, such as swot_self (default: random)
  --app-token <token>        Token that acts as the app, such as swot_app (default: random)
  --redirect-uri <uri>       Register another redirect URI; can be repeated
  --auto-consent <decision>  Skip the consent page: allow or deny access
  --conversations <number>   Number of conversations in each organization, up to 100000 (default: 120)
  --seed <number>            Select the sample data; the same seed produces the same data (default: 24301)
  --rate-limit <limit>       Respond with 429 above this rate: 100/min, 5/s or 1000/h (default: no limit)
  --fault <fault>            Inject a fault, see below; can be repeated
  --cors                     Let pages of every origin read responses (default: only pages on this machine)
  --no-cors                  Send no CORS headers
  --log                      Print a line for each request
  --version                  Print the version
  -h, --help                 Print this help

A fault is a list of options, separated by commas:
  status=503                 Respond with this status; add retry-after=30 or effect (the request takes effect)
  drop=after-effect          Drop the connection: before-effect, after-effect, mid-headers or mid-body
  truncate, garbage          Cut off the body; respond with a page of HTML
  drip=16/500                Send the body in chunks of 16 bytes, 500 ms apart
  latency=2000               Delay the response by 2000 ms
  method=POST                Apply only to requests with this method
  path=/messages             Apply only to paths that contain this text
  times=2                    Apply to this many requests, or to all (default: 1)
  after=3                    Let this many matching requests through first

Examples:
  support-workspace-sdk sandbox --self-token swot_self --app-token swot_app --log
  support-workspace-sdk sandbox --fault status=503,times=2,path=/messages --fault latency=2000,times=all
`

/** An error in the command-line arguments. */
export class UsageError extends Error {}

export interface SandboxCommand {
  kind: 'sandbox'
  options: SandboxOptions
  faults: FaultRule[]
  /** Whether to print a line for each request. */
  log: boolean
}

/** Returns what the arguments ask for. Throws a {@link UsageError} if they are invalid. */
export function readArguments(args: readonly string[]): SandboxCommand | { kind: 'help' | 'version' } {
  const { values, positionals } = parseCommandLine(args)
  if (values.help) return { kind: 'help' }
  if (values.version) return { kind: 'version' }
  const [command, surplus] = positionals
  if (command !== 'sandbox') {
    throw new UsageError(
      command === undefined
        ? 'A command is required. Run `support-workspace-sdk sandbox`.'
        : `Unknown command \`${command}\`. Run \`support-workspace-sdk sandbox\`.`,
    )
  }
  // The argument could be a token after a mistyped option, so the message does not contain it.
  if (surplus !== undefined) throw new UsageError('Unexpected argument after `sandbox`. Pass options only.')

  if (values.cors && values['no-cors']) {
    throw new UsageError('--cors and --no-cors exclude each other. Remove one of them.')
  }
  const redirectUris = values['redirect-uri']?.map((uri) => checked('redirect-uri', uri, redirectUriCheck))
  const options: SandboxOptions = {
    ...option('port', values.port ?? '4010', toNumber),
    ...option('host', values.host),
    ...option('conversations', values.conversations, toNumber),
    ...option('seed', values.seed, toNumber),
    ...option('autoConsent', values['auto-consent']),
    ...option('rateLimit', values['rate-limit']),
    ...readTokens(values['self-token'], values['app-token']),
    app: { redirectUris: [...defaultRedirectUris, ...(redirectUris ?? [])] },
    ...(values.cors && { cors: true }),
    ...(values['no-cors'] && { cors: false }),
  }
  return { kind: 'sandbox', options, faults: (values.fault ?? []).map(readFault), log: values.log ?? false }
}

export const commandLineOptions = {
  port: { type: 'string' },
  host: { type: 'string' },
  'self-token': { type: 'string' },
  'app-token': { type: 'string' },
  'redirect-uri': { type: 'string', multiple: true },
  'auto-consent': { type: 'string' },
  conversations: { type: 'string' },
  seed: { type: 'string' },
  'rate-limit': { type: 'string' },
  fault: { type: 'string', multiple: true },
  cors: { type: 'boolean' },
  'no-cors': { type: 'boolean' },
  log: { type: 'boolean' },
  version: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

function parseCommandLine(args: readonly string[]): ReturnType<typeof parseStrictly> {
  try {
    return parseStrictly(args)
  } catch (error) {
    // Keeps only the first sentence. The rest explains how to pass arguments that begin with a dash.
    const [sentence] = String(error instanceof Error ? error.message : error).split(/\.\s|\n/)
    throw new UsageError(`${sentence?.replace(/\.$/, '')}. Run with --help to list the options.`)
  }
}

function parseStrictly(args: readonly string[]) {
  return parseArgs({ args: [...args], options: commandLineOptions, allowPositionals: true })
}

/** Returns an object with the sandbox option that an argument sets, or an empty one without the argument. */
function option(
  name: keyof SandboxOptions,
  text: string | undefined,
  convert: (text: string) => unknown = String,
): SandboxOptions {
  if (text === undefined) return {}
  const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return { [name]: checked(flag, convert(text), optionChecks[name]) }
}

function checked<Value>(flag: string, value: Value, check: Check): Value {
  const problem = check(value)
  if (problem !== undefined) throw new UsageError(`--${flag} ${problem}`)
  return value
}

// Other text stays text, so that the check reports it.
function toNumber(text: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

function readTokens(self: string | undefined, app: string | undefined): SandboxOptions {
  if (self !== undefined) checked('self-token', self, tokenCheck)
  if (app !== undefined) checked('app-token', app, tokenCheck)
  if (self !== undefined && self === app) {
    throw new UsageError('--self-token and --app-token must be two different tokens. Change one of them.')
  }
  return { tokens: { ...(self !== undefined && { self }), ...(app !== undefined && { app }) } }
}

function readFault(text: string): FaultRule {
  try {
    return parseFault(text)
  } catch (error) {
    throw new UsageError(
      `--fault ${JSON.stringify(text)} is invalid. ${error instanceof Error ? error.message : error}`,
    )
  }
}
