import { setupServer } from 'msw/node'
import type { setupServer as setupServerOfMsw2 } from 'msw-2/node'
import { afterEach, describe, expect, test } from 'vitest'
import { createSandbox, type Sandbox } from '../../src/sandbox/index.ts'

const open: { close(): void }[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

function intercept(sandbox: Sandbox, baseUrl?: string): void {
  const server = setupServer(...sandbox.handlers(baseUrl))
  server.listen({ onUnhandledFrame: 'error' })
  open.push(server)
}

describe('msw handlers', () => {
  test('handle requests to the sandbox’s own URL', async () => {
    const sandbox = createSandbox()
    intercept(sandbox)
    const headers = { authorization: `Bearer ${sandbox.issueToken()}` }
    const response = await fetch(`${sandbox.url}/api/oauth/v1/conversations?limit=3`, { headers })
    expect(((await response.json()) as { data: unknown[] }).data).toHaveLength(3)
    expect(sandbox.requests).toMatchObject([{ operation: 'listConversations', status: 200 }])
  })

  test('have types that msw 2 accepts too', () => {
    const handlers: Parameters<typeof setupServerOfMsw2> = createSandbox().handlers()
    expect(handlers).toHaveLength(1)
  })

  test('report a dropped connection as a network error', async () => {
    const sandbox = createSandbox()
    intercept(sandbox)
    sandbox.failNext({ drop: 'after-effect' })
    await expect(fetch(`${sandbox.url}/api/oauth/v1/me`)).rejects.toThrow(TypeError)
    sandbox.failNext({ status: 503 })
    expect((await fetch(`${sandbox.url}/api/oauth/v1/me`)).status).toBe(503)
    sandbox.failNext({ drop: 'mid-body' })
    const cut = await fetch(`${sandbox.url}/api/oauth/v1/me`)
    await expect(cut.text()).rejects.toThrow(TypeError)
  })
})
