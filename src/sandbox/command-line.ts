import { parseArgs } from 'node:util'
import { defaultRedirectUris, type SandboxOptions } from './options.ts'

export const help = `Usage: support-workspace-sdk sandbox [options]

Starts a local copy of the service to develop and test against.

Options:
  --port <number>            Port to listen on, 0 for any free one (default: 4010)
  --host <address>           Address to listen on (default: 127.0.0.1)
  --conversations <number>   Conversations of each organization (default: 120)
  --auto-consent <answer>    Answer the consent screen by itself: allow or deny
  --redirect-uri <uri>       Register one more redirect URI; can be repeated
  --no-cors                  Answer without CORS headers
  --help                     Show this text
`

/** Something that the person at the command line can put right; its message is one sentence. */
export class UsageError extends Error {}

/** What the arguments ask for. Throws a {@link UsageError} when they make no sense. */
export function readArguments(args: readonly string[]): 'help' | SandboxOptions {
  const { values, positionals } = parseCommandLine(args)
  if (values.help) return 'help'
  const [command, surplus] = positionals
  if (command !== 'sandbox') {
    throw new UsageError(
      command === undefined ? 'Say what to start: `sandbox`.' : `There is no command \`${command}\`.`,
    )
  }
  if (surplus !== undefined) throw new UsageError(`\`sandbox\` takes no argument \`${surplus}\`.`)
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

const options = {
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
    // Only the first sentence: the rest explains how to pass arguments that begin with a dash.
    const [sentence] = String(error instanceof Error ? error.message : error).split(/\.\s|\n/)
    throw new UsageError(`${sentence?.replace(/\.$/, '')}.`)
  }
}

function parseStrictly(args: readonly string[]) {
  return parseArgs({ args: [...args], options, allowPositionals: true })
}

function readInteger(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} takes a whole number, not \`${text}\`.`)
  return Number(text)
}

function readConsent(answer: string | undefined): 'allow' | 'deny' | undefined {
  if (answer === undefined || answer === 'allow' || answer === 'deny') return answer
  throw new UsageError(`--auto-consent takes \`allow\` or \`deny\`, not \`${answer}\`.`)
}
