import { createHash } from 'node:crypto'
import { afterEach } from 'vitest'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox.ts'

/** Starts sandboxes that are closed after each test. */
export function useSandboxes(): (options?: SandboxOptions) => Promise<Sandbox> {
  const open: Sandbox[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((sandbox) => sandbox.close()))
  })
  return async (options) => {
    const sandbox = await startSandbox({ conversations: 5, contacts: 5, ...options })
    open.push(sandbox)
    return sandbox
  }
}

export interface Answered {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read what the service sent, whatever it is
  body: any
}

/** One call over HTTP with this token. */
export async function call(
  sandbox: Sandbox,
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answered> {
  const response = await fetch(`${sandbox.url}${path}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

export const verifier = 'a-verifier-that-is-long-enough-for-RFC-7636-ok'
export const challenge: string = createHash('sha256').update(verifier).digest('base64url')
export const redirectUri = 'http://localhost:3000/callback'

/** A good authorization request; `undefined` leaves a parameter out. */
export function authorizeParameters(changes: Record<string, string | undefined> = {}): URLSearchParams {
  const parameters = {
    client_id: 'app_sandbox',
    redirect_uri: redirectUri,
    scope: 'conversations:read contacts:read',
    state: 'state with spaces & signs',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...changes,
  }
  return new URLSearchParams(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

export function authorize(
  sandbox: Sandbox,
  changes: Record<string, string | undefined> = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const url = `${sandbox.url}/api/oauth/authorize?${authorizeParameters(changes)}`
  return fetch(url, { redirect: 'manual', headers })
}

/** The query of the redirect that an answer is. */
export function redirected(response: Response): Record<string, string> {
  const location = response.headers.get('location')
  if (location === null) throw new Error(`Not a redirect but ${response.status}.`)
  return Object.fromEntries(new URL(location).searchParams)
}

/** A fresh code, allowed without a person. */
export async function freshCode(sandbox: Sandbox, changes: Record<string, string | undefined> = {}): Promise<string> {
  const { code } = redirected(await authorize(sandbox, { auto: 'allow', ...changes }))
  if (code === undefined) throw new Error('No code was granted.')
  return code
}

/** Exchanges a code; `undefined` leaves a field out. */
export async function exchange(
  sandbox: Sandbox,
  fields: Record<string, string | undefined>,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const form = {
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    client_id: 'app_sandbox',
    client_secret: 'secret_sandbox',
    code_verifier: verifier,
    ...fields,
  }
  const entries = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return postForm(sandbox, '/api/oauth/token', new URLSearchParams(entries), headers)
}

export async function postForm(
  sandbox: Sandbox,
  path: string,
  form: URLSearchParams,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const response = await fetch(`${sandbox.url}${path}`, { method: 'POST', body: form, headers, redirect: 'manual' })
  const text = await response.text()
  const json = response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text }
}
