import { parseArgs } from 'node:util'
import type * as z from 'zod/mini'
import type { FaultRule } from './faults/fault.ts'
import { optionName, parseFault, readNumber } from './faults/fault-text.ts'
import {
  appShape,
  defaultRedirectUris,
  hostNameSchema,
  optionShape,
  redirectUriSchema,
  type SandboxOptions,
  tokenSchema,
} from './sandbox-options.ts'
import { problemOf } from './schema.ts'

export const help = `Usage: support-workspace-sdk sandbox [options]

Starts a local copy of the service for development and tests, with a console at its address.

Options:
  --port <number>            Port to listen on; 0 picks a free one (default: 4010)
  --host <address>           Address to listen on (default: 127.0.0.1)
  --allowed-host <host>      Name or address that other machines use; can be repeated, required with --host 0.0.0.0
  --self-token <token>       Token that acts as a person, such as swot_self (default: random)
  --app-token <token>        Token that acts as the app, such as swot_app (default: random)
  --client-id <id>           Client id of the app (default: app_sandbox)
  --client-secret <secret>   Client secret of the app (default: secret_sandbox)
  --redirect-uri <uri>       Register another redirect URI; can be repeated
  --auto-consent <decision>  Skip the consent page: allow or deny access
  --organizations <number>   Number of organizations, up to 100000 (default: 2)
  --conversations <number>   Number of conversations in each organization, up to 100000 (default: 120)
  --messages-per-conversation <number>
                             Number of messages in each conversation, up to 100000 (default: 3)
  --seed <number>            Select the sample data; the same seed produces the same data (default: 24301)
  --rate-limit <limit>       Respond with 429 above this rate: 100/min, 5/s or 1000/h (default: no limit)
  --fault <fault>            Inject a fault, see below; can be repeated
  --cors                     Let pages of every origin read responses (default: only pages on this machine)
  --no-cors                  Send no CORS headers
  --log                      Print a line for each request
  -v, --version              Print the version
  -h, --help                 Print this help

A fault is a list of options, separated by commas:
  status=503                 Respond with this status; add retry-after=30 or effect (the request takes effect)
  drop=after-effect          Drop the connection: before-effect, after-effect, mid-headers or mid-body
  truncate, garbage          Cut off the body; respond with a page of HTML
  stall                      Send half of the body, and then nothing
  drip=16/500                Send the body in chunks of 16 bytes, 500 ms apart
  latency=2000               Delay the response by 2000 ms
  late-effect=5000           Let a request that failed take effect 5000 ms later; with status or drop=before-effect
  method=POST                Apply only to requests with this method
  path=/messages             Apply only to paths that contain this text
  times=2                    Apply to this many requests, or to all (default: 1)
  after=3                    Let this many matching requests through first
  probability=0.1            Apply to one of ten, chosen by seed=1

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

type Flag = { type: string; schema?: z.ZodMiniType; isNumber?: boolean }

const text = (schema: z.ZodMiniType) => ({ type: 'string', schema }) as const
const number = (schema: z.ZodMiniType) => ({ ...text(schema), isNumber: true }) as const
const list = (schema: z.ZodMiniType) => ({ ...text(schema), multiple: true }) as const

/** Every flag. A value that has a schema is that of an option, whose name is the flag's in camel case. */
export const commandLineOptions = {
  port: number(optionShape.port),
  host: text(optionShape.host),
  'allowed-host': list(hostNameSchema),
  'self-token': text(tokenSchema),
  'app-token': text(tokenSchema),
  'client-id': text(appShape.clientId),
  'client-secret': text(appShape.clientSecret),
  'redirect-uri': list(redirectUriSchema),
  'auto-consent': text(optionShape.autoConsent),
  organizations: number(optionShape.organizations),
  conversations: number(optionShape.conversations),
  'messages-per-conversation': number(optionShape.messagesPerConversation),
  seed: number(optionShape.seed),
  'rate-limit': text(optionShape.rateLimit),
  fault: { type: 'string', multiple: true },
  cors: { type: 'boolean' },
  'no-cors': { type: 'boolean' },
  log: { type: 'boolean' },
  version: { type: 'boolean', short: 'v' },
  help: { type: 'boolean', short: 'h' },
} as const

/** Returns what the arguments ask for. Throws a {@link UsageError} if they are invalid. */
export function readArguments(args: readonly string[]): SandboxCommand | { kind: 'help' | 'version' } {
  const { values, positionals } = parseCommandLine(args)
  const [command, surplus] = positionals
  if (values.help || command === 'help' || surplus === 'help') return { kind: 'help' }
  if (values.version) return { kind: 'version' }
  if (command === undefined) throw new UsageError('A command is required. Run `support-workspace-sdk sandbox`.')
  if (command !== 'sandbox') {
    throw new UsageError(`Unknown command \`${command}\`. Run \`support-workspace-sdk sandbox\`.`)
  }
  // The argument could be a token after a mistyped option, so the message does not contain it.
  if (surplus !== undefined) throw new UsageError('Unexpected argument after `sandbox`. Pass options only.')
  if (values.cors && values['no-cors']) {
    throw new UsageError('--cors and --no-cors exclude each other. Remove one of them.')
  }

  const { selfToken: self, appToken: app, clientId, clientSecret, redirectUri, allowedHost, ...others } = read(values)
  if (self !== undefined && self === app) {
    throw new UsageError('--self-token and --app-token must be two different tokens. Change one of them.')
  }
  const options = {
    port: 4010,
    ...others,
    allowedHosts: allowedHost,
    tokens: { self, app },
    app: { clientId, clientSecret, redirectUris: [...defaultRedirectUris, ...((redirectUri ?? []) as string[])] },
    cors: values['no-cors'] ? false : values.cors,
  }
  // Each value was checked.
  return {
    kind: 'sandbox',
    options: options as SandboxOptions,
    faults: (values.fault ?? []).map(readFault),
    log: values.log ?? false,
  }
}

/** Returns the value of each flag that has a schema, by the flag's name in camel case. */
function read(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const checked: Record<string, unknown> = {}
  for (const [flag, { schema, isNumber }] of Object.entries<Flag>(commandLineOptions)) {
    const given = values[flag]
    if (schema === undefined || given === undefined) continue
    const value = isNumber ? readNumber(String(given)) : given
    const problem = [value].flat().flatMap((each) => problemOf(schema, each) ?? [])[0]
    if (problem !== undefined) throw new UsageError(`--${flag} ${problem}`)
    checked[optionName(flag)] = value
  }
  return checked
}

function parseStrictly(args: readonly string[]) {
  return parseArgs({ args: [...args], options: commandLineOptions, allowPositionals: true })
}

function parseCommandLine(args: readonly string[]): ReturnType<typeof parseStrictly> {
  try {
    return parseStrictly(args)
  } catch (error) {
    // Keeps only the first sentence. The rest explains how to pass arguments that begin with a dash.
    const [sentence = ''] = String(error instanceof Error ? error.message : error).split(/\.\s|\n/)
    const unknown = /^Unknown option '--([^']+)'/.exec(sentence)?.[1]
    const similar = unknown && Object.keys(commandLineOptions).find((name) => isSimilar(name, unknown))
    const next = similar ? `Did you mean \`--${similar}\`?` : 'Run with --help to list the options.'
    throw new UsageError(`${sentence.replace(/\.$/, '')}. ${next}`)
  }
}

/** Returns whether two names differ by at most two letters that are added, removed or changed. */
function isSimilar(name: string, other: string, differences = 2): boolean {
  if (name === '' || other === '') return name.length + other.length <= differences
  if (name[0] === other[0]) return isSimilar(name.slice(1), other.slice(1), differences)
  const next = [
    [name.slice(1), other],
    [name, other.slice(1)],
    [name.slice(1), other.slice(1)],
  ] as const
  return differences > 0 && next.some(([one, two]) => isSimilar(one, two, differences - 1))
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
