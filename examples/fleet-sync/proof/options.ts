import { parseArgs } from 'node:util'
import type { OrganizationPlan } from './service.ts'

export type LimiterName = 'shared' | 'fixed' | 'none'

export interface ProofOptions {
  readonly ci: boolean
  readonly limiter: LimiterName
  readonly organizations: readonly OrganizationPlan[]
  readonly workers: number
  readonly revocations: number
  /** A `postgres://` URL, or undefined for a new SQLite file. */
  readonly databaseUrl: string | undefined
  /** Constant rate of `--limiter fixed`, in requests a second: the average of the hidden limits. */
  readonly fixedRate: number
  /** Lengths of the parts of the run, in seconds. */
  readonly warmUp: number
  readonly quiet: number
  readonly noisy: number
  readonly kills: number
  readonly secondsBetweenKills: number
  readonly faultsPerSecond: number
  readonly changesPerSecond: number
  readonly json: string | undefined
}

export const help = `Usage: npm run fleet-proof -- [options]

Syncs many organizations with hidden rate limits while worker processes are killed, responses are lost and tokens revoked,
and then compares each replica with the service.

Options:
  --connections <number>   Number of organizations (default: 200)
  --workers <number>       Number of worker processes (default: 8)
  --noisy <number>         Conversations of the noisy organization (default: 200)
  --limiter <name>         shared, fixed (the same constant rate for each connection) or none (default: shared)
  --warm-up <seconds>      Length of the warm-up (default: 120)
  --seconds <number>       Length of the measurement, half of it with the noisy neighbor (default: 240)
  --kills <seconds>        How long workers are killed (default: 90)
  --database <url>         A postgres:// URL (default: a new SQLite file)
  --json <file>            Write the report to a file
  --ci                     A small run that fails unless every promise holds
  --help                   Print this help
`

/** Reads the command line. Returns undefined for `--help`. */
export function readOptions(args: readonly string[]): ProofOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      connections: { type: 'string' },
      workers: { type: 'string' },
      noisy: { type: 'string' },
      limiter: { type: 'string', default: 'shared' },
      'warm-up': { type: 'string' },
      seconds: { type: 'string' },
      kills: { type: 'string' },
      database: { type: 'string' },
      json: { type: 'string' },
      ci: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { ci, limiter } = values
  if (limiter !== 'shared' && limiter !== 'fixed' && limiter !== 'none') {
    throw new TypeError('--limiter must be shared, fixed or none.')
  }
  const connections = number('connections', values.connections, ci ? 20 : 200)
  const organizations = planOrganizations(connections, number('noisy', values.noisy, ci ? 120 : 200), ci)
  const busy = organizations.filter(({ role }) => role === 'busy')
  const seconds = number('seconds', values.seconds, ci ? 40 : 240)
  return {
    ci,
    limiter,
    organizations,
    workers: number('workers', values.workers, ci ? 4 : 8),
    revocations: Math.min(5, busy.length - 1),
    databaseUrl: values.database,
    fixedRate: busy.reduce((sum, { limit }) => sum + limit, 0) / busy.length / 60,
    warmUp: number('warm-up', values['warm-up'], ci ? 20 : 120),
    quiet: seconds / 2,
    noisy: seconds / 2,
    kills: number('kills', values.kills, ci ? 20 : 90),
    secondsBetweenKills: 5,
    faultsPerSecond: ci ? 1 : 3,
    changesPerSecond: ci ? 2 : 4,
    json: values.json,
  }
}

/** One noisy organization, a few quiet ones, and the busy ones, whose hidden limits differ by a factor of three. */
function planOrganizations(count: number, noisyConversations: number, ci: boolean): OrganizationPlan[] {
  const limits = ci ? [240, 300, 360, 480, 600] : [45, 60, 75, 90, 150]
  const quietCount = ci ? 2 : 5
  return Array.from({ length: count }, (_, index): OrganizationPlan => {
    const limit = limits[index % limits.length] as number
    if (index === 0) return { role: 'noisy', limit: Math.max(...limits), conversations: noisyConversations }
    if (index <= quietCount) return { role: 'quiet', limit: 1_200, conversations: 4 }
    return { role: 'busy', limit, conversations: 40 }
  })
}

function number(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new TypeError(`--${name} must be an integer of at least 1.`)
  return Number(text)
}
