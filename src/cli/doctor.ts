import { lookup } from 'node:dns/promises'
import type { Command } from '@commander-js/extra-typings'
import { innermost, redact } from '../errors/redact.ts'
import type { Me } from '../index.ts'
import { scopesFor } from '../oauth/index.ts'
import { describeIdentity, placeOf } from './account.ts'
import { CommandError, describeFailure, quoted } from './errors.ts'
import { type BuiltIn, findOperation } from './find-operation.ts'
import { listOf, profileOption } from './options.ts'
import {
  adviseVariable,
  identityOf,
  loginAgain,
  NotLoggedInError,
  type Session,
  serviceUrl,
  withSession,
} from './session.ts'
import { type Io, oneLine, type Terminal } from './terminal.ts'

/** The result of a check. `inconclusive` means that the check itself could not run. */
type State = 'pass' | 'warn' | 'fail' | 'skipped' | 'inconclusive'
type Found = readonly [state: State, detail: string, hint?: string, next?: readonly string[]]

/** What the checks know, and what those before them have found out. */
interface Case {
  readonly io: Io
  readonly url: URL
  readonly session: Session | undefined
  /** Why there is no session. */
  readonly problem: unknown
  readonly operations: readonly BuiltIn[]
  /** The answer of the service to a request without a token. */
  answer?: Response
  me?: Me
}

/** In the order of what depends on what. */
const checks: Readonly<Record<string, (about: Case) => Found | Promise<Found>>> = {
  service: ({ url }) => ['pass', url.href],
  node: () =>
    process.getBuiltinModule?.('node:sqlite') === undefined
      ? ['warn', process.versions.node, 'Stored logins, import and journal need Node 22.13 or later.']
      : ['pass', process.versions.node],
  proxy: ({ io, url }) => {
    const name = proxyOf(io.env, url)
    if (name === undefined || io.env.NODE_USE_ENV_PROXY === '1') return ['pass', name ?? 'none']
    return ['warn', `Node does not use ${name}.`, 'Set NODE_USE_ENV_PROXY=1, which Node has from 22.21 and 24.0.']
  },
  async dns({ io, url }) {
    if (proxyOf(io.env, url) !== undefined)
      return ['skipped', 'The proxy looks the name up.', 'The check of the network tells whether it can.']
    const found = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true })
    return ['pass', found.map(({ address }) => address).join(', ')]
  },
  async network(about) {
    const signal = AbortSignal.any([about.io.signal, AbortSignal.timeout(10_000)])
    const path = `${about.url.href.replace(/\/$/, '')}/api/oauth/v1/me`
    const answer = await fetch(path, { redirect: 'manual', signal })
    await answer.body?.cancel()
    const isRedirect = answer.status >= 300 && answer.status < 400
    if (isRedirect)
      return ['fail', 'The service redirects.', 'Use the address that it redirects to: a token follows none.']
    about.answer = answer
    return ['pass', `The service answers${about.url.protocol === 'https:' ? ', and its certificate is trusted' : ''}.`]
  },
  clock({ answer }) {
    const offset = Math.round((Date.now() - Date.parse(answer?.headers.get('date') ?? '')) / 1_000)
    if (Number.isNaN(offset))
      return ['inconclusive', 'The service does not tell the time.', 'Compare the clock with another one.']
    if (Math.abs(offset) < 60) return ['pass', 'right']
    return [
      'warn',
      `${offset} s apart from that of the service`,
      'Set the clock: the journal of an import compares times.',
    ]
  },
  async token({ io, session, problem }) {
    if (session === undefined) {
      if (problem instanceof NotLoggedInError) return ['fail', 'There is none.', problem.hint, problem.next ?? []]
      throw problem
    }
    const place = placeOf(session.origin, io.platform)
    if ((await session.readToken()).startsWith('swot_')) return ['pass', place]
    return ['warn', `${place}: it does not begin with swot_`, 'Check that it is a token of this service.']
  },
  async identity(about) {
    if (about.session === undefined) return ['skipped', 'There is no token.', 'Log in first.']
    if (about.answer === undefined)
      return ['inconclusive', 'The service was not reached.', 'Correct the network first.']
    about.me = await about.session.workspace.me({ signal: about.io.signal })
    return ['pass', describeIdentity(identityOf(about.me))]
  },
  scopes({ session, me, operations }) {
    if (session === undefined || me === undefined)
      return ['skipped', 'They are those of a token that works.', 'Get one first.']
    const { scopes: granted } = identityOf(me)
    if (granted === undefined)
      return ['inconclusive', 'The service does not tell them.', 'Call the operations to find out.']
    const missing = scopesFor(...operations.map(({ id }) => id)).filter((scope) => !granted.includes(scope))
    const authoring = me.actor === 'app' ? operations.find(({ actor }) => actor === 'self') : undefined
    if (authoring === undefined && missing.length === 0) return ['pass', granted.join(' ')]
    const problems = [
      ...(authoring === undefined ? [] : [`${authoring.id} needs a token that acts as a person`]),
      ...(missing.length === 0 ? [] : [`missing: ${missing.join(' ')}`]),
    ]
    const actor = me.actor === 'self' || authoring !== undefined ? 'self' : 'app'
    const scopes = [...granted, ...missing]
    const hint = `Log in with --actor ${actor} --scope ${quoted(scopes.join(','))}`
    return ['fail', problems.join('; '), hint, loginAgain(session.origin, actor, scopes)]
  },
}

/** The exit code of a check whose failure is no error of the package. */
const exitCodes: Readonly<Record<string, 70 | 75 | 77>> = { dns: 75, token: 77, scopes: 77 }

/** Adds `doctor`, which checks one thing after the other, and says what to do. */
export function addDoctor(program: Command, terminal: Terminal): void {
  program
    .command('doctor')
    .description('check network, clock, token and scopes, and say what to do')
    .addOption(profileOption)
    .option('--for <operations>', 'operations that the token must be allowed, such as contacts.create')
    .action(async (flags) => {
      const { io } = terminal
      const operations = listOf(flags.for ?? '').map(findOperation)
      let session: Session | undefined
      const diagnoseWith = (url: string, problem?: unknown) =>
        diagnose({ io, url: new URL(url), session, problem, operations }, terminal)
      try {
        await withSession(terminal, flags, (found) => {
          session = found
          return diagnoseWith(found.origin.baseUrl)
        })
      } catch (thrown) {
        if (session !== undefined) throw thrown
        await diagnoseWith(serviceUrl(io), thrown)
      }
    })
}

async function diagnose(about: Case, terminal: Terminal): Promise<void> {
  const failures: CommandError[] = []
  for (const [check, run] of Object.entries(checks)) {
    let exitCode = exitCodes[check] ?? 70
    let [state, detail, hint, next]: Found = ['inconclusive', '']
    try {
      ;[state, detail, hint, next] = await run(about)
    } catch (thrown) {
      about.io.signal.throwIfAborted()
      if (about.session !== undefined) adviseVariable(thrown, about.session.origin)
      const failure = check === 'dns' || check === 'network' ? ofNetwork(thrown) : describeFailure(thrown, [])
      ;[state, detail, hint, next] = ['fail', failure.message, String(failure.hint), failure.next ?? undefined]
      exitCode = failure.exitCode as 70
    }
    if (state === 'fail') failures.push(new CommandError(exitCode, `${check}: ${detail}`, hint ?? '', next))
    const more = hint === undefined ? '' : `\n${' '.repeat(22)}${oneLine(hint)}`
    const text = `${state.padEnd(13)}${check.padEnd(9)}${oneLine(detail)}${more}`
    await terminal.show({ check, state, detail, hint, ...(state === 'fail' && { exitCode }) }, text)
  }
  if (failures[0] !== undefined) throw failures[0]
}

/** Returns the variable with the proxy for an address. */
function proxyOf(env: Io['env'], url: URL): string | undefined {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const isExcluded = listOf(env.NO_PROXY ?? env.no_proxy ?? '').some((entry) => excludes(entry.toLowerCase(), url))
  return isExcluded ? undefined : [name, name.toLowerCase()].find((each) => env[each])
}

/** Whether an entry of NO_PROXY is about an address: a host, or a suffix with its dot, and perhaps a port. */
function excludes(entry: string, { hostname, port, protocol }: URL): boolean {
  if (entry === '*') return true
  const [, host = '', wanted] = /^(\[.*\]|[^:]*(?::[^:]*:[^:]*)*)(?::(\d+))?$/.exec(entry) ?? []
  if (wanted !== undefined && wanted !== (port || (protocol === 'https:' ? '443' : '80'))) return false
  const suffix = /^\*?(\..+)/.exec(host)?.[1]
  return suffix === undefined
    ? host.replace(/^\[|\]$/g, '') === hostname.replace(/^\[|\]$/g, '')
    : hostname.endsWith(suffix)
}

function ofNetwork(thrown: unknown) {
  const cause = thrown instanceof Error ? innermost(thrown) : new Error(String(thrown))
  const { code = '' } = cause as NodeJS.ErrnoException
  const [exitCode, hint] =
    cause.message === 'bad port'
      ? [70, 'The port belongs to another protocol. Correct SUPPORT_WORKSPACE_URL.']
      : /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)
        ? [70, 'Set NODE_EXTRA_CA_CERTS to the certificates of your network.']
        : [75, 'Check the address of the service, the network and the proxy.']
  return { exitCode, message: redact(cause.message), hint, next: null }
}
