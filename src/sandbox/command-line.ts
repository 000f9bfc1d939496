import { parseArgs } from 'node:util'
import type { SandboxOptions } from './sandbox-options.ts'
import { defaultRedirectUris } from './sandbox-settings.ts'

export const help = `Usage: support-workspace-sdk sandbox [options]

Starts a local copy of the service for development and tests.

Options:
  --port <number>            Port to listen on; 0 picks a free one (default: 4010)
  --host <address>           Address to listen on (default: 127.0.0.1)
  --conversations <number>   Number of conversations in each organization (default: 120)
  --auto-consent <decision>  Skip the consent page: allow or deny access
  --redirect-uri <uri>       Register another redirect URI; can be repeated
  --no-cors                  Send no CORS headers
  -h, --help                 Show this help
`

/** An error in the command-line arguments. */
export class UsageError extends Error {}

/** Returns the options in the arguments. Throws a {@link UsageError} if they are invalid. */
export function readArguments(args: readonly string[]): 'help' | SandboxOptions {
  const { values, positionals } = parseCommandLine(args)
  if (values.help) return 'help'
  const [command, surplus] = positionals
  if (command !== 'sandbox') {
    throw new UsageError(
      command === undefined
        ? 'A command is required. Run `support-workspace-sdk sandbox`.'
        : `Unknown command \`${command}\`. Run \`support-workspace-sdk sandbox\`.`,
    )
  }
  if (surplus !== undefined) throw new UsageError(`Unexpected argument \`${surplus}\`. Pass options only.`)
  const conversations = readInteger('conversations', values.conversations)
  const autoConsent = readConsent(values['auto-consent'])
  return {
    port: readInteger('port', values.port) ?? 4010,
    ...(values.host !== undefined && { host: values.host }),
    ...(conversations !== undefined && { conversations }),
    ...(autoConsent !== undefined && { autoConsent }),
    app: { redirectUris: [...defaultRedirectUris, ...(values['redirect-uri'] ?? [])] },
    cors: !values['no-cors'],
  }
}

export const commandLineOptions = {
  port: { type: 'string' },
  host: { type: 'string' },
  conversations: { type: 'string' },
  'auto-consent': { type: 'string' },
  'redirect-uri': { type: 'string', multiple: true },
  'no-cors': { type: 'boolean' },
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

function readInteger(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be an integer of at least 0, not \`${text}\`.`)
  return Number(text)
}

function readConsent(decision: string | undefined): 'allow' | 'deny' | undefined {
  if (decision === undefined || decision === 'allow' || decision === 'deny') return decision
  throw new UsageError(`--auto-consent must be \`allow\` or \`deny\`, not \`${decision}\`.`)
}
