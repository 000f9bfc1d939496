import { expect } from 'vitest'
import {
  type ExchangeOptions,
  LoginError,
  type LoginErrorReason,
  OAuthApp,
  type OAuthAppOptions,
  type StartedLogin,
} from '../../../src/oauth/index.ts'
import { rejection } from '../../helpers/client.ts'

export const clientSecret = 'secret_x+y/z=& é-0123456789'
export const code = 'code_abc123def456'
export const redirectUri = 'https://app.example/login/callback'
export const scope = ['conversations:read', 'messages:write'] as const

export function makeApp(baseUrl: string, options: Partial<OAuthAppOptions> = {}): OAuthApp {
  return new OAuthApp({ baseUrl, clientId: 'app_abc123', clientSecret, redirectUri, ...options })
}

/** Starts a login, and returns a function that finishes it with a callback. */
export async function startLogin(baseUrl: string, options: Partial<OAuthAppOptions> = {}) {
  const app = makeApp(baseUrl, options)
  const login = await app.startLogin({ scope })
  const finish = (callback: string | URL | Request = callbackOf(login), exchange?: ExchangeOptions) =>
    app.finishLogin(callback, login.transaction, exchange)
  return { app, login, finish }
}

export function stateOf(login: StartedLogin): string {
  return new URL(login.url).searchParams.get('state') ?? ''
}

/** Returns the callback of a login with some parameters changed, or left out if undefined. */
export function callbackOf(login: StartedLogin, change: Record<string, string | undefined> = {}): string {
  const url = new URL(new URL(login.url).searchParams.get('redirect_uri') ?? '')
  for (const [name, value] of Object.entries({ code, state: stateOf(login), ...change })) {
    if (value !== undefined) url.searchParams.append(name, value)
  }
  return url.href
}

export async function loginError(promise: Promise<unknown>, reason: LoginErrorReason): Promise<LoginError> {
  const error = await rejection(promise)
  expect(error).toBeInstanceOf(LoginError)
  expect((error as LoginError).reason).toBe(reason)
  return error as LoginError
}
