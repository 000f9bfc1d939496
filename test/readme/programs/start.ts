import { readFile } from 'node:fs/promises'
import { textToHtml } from 'support-workspace-sdk'
import { expect } from 'vitest'
import { root } from '../page.ts'
import type { Programs } from '../reader.ts'

const pageText = (path: string) => readFile(`${root}${path}`, 'utf8')

/** Returns the blocks of what a program prints. */
const printedIn = (page: string) => [...page.matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(([, text]) => text)

export const start: Programs = {
  'docs/quickstart.md': {
    'first.mjs': async ({ run }) => {
      const { code, stdout } = await run()
      expect(code).toBe(0)
      expect(printedIn(await pageText('docs/quickstart.md'))).toEqual([stdout])
    },
  },

  'docs/service-token.md': {
    'report.mts': async ({ run, sandbox }) => {
      const token = sandbox.issueToken({ actor: 'app', scopes: ['contacts:read'] })
      const env = { SUPPORT_WORKSPACE_TOKEN: token }
      const { code, stdout } = await run({ env })
      expect(code).toBe(0)
      expect(stdout.trim().split('\n')).toEqual(sandbox.state.contacts.map(({ id, user }) => `${id} ${user?.email}`))

      expect(sandbox.revoke(token)).toBe(true)
      const revoked = await run({ env })
      expect(revoked.code).toBe(77)
      expect(revoked.stderr).toContain('AuthenticationError')

      expect((await run({ env: { SUPPORT_WORKSPACE_TOKEN: undefined } })).code).toBe(70)
    },
  },

  'docs/concepts.md': {
    'app-token.mts': async ({ run, sandbox }) => {
      expect(await run()).toMatchObject({ code: 0, stdout: 'not-sent\n' })
      expect(sandbox.requests).toEqual([])

      const [firstLine = ''] = (await pageText('test/types/app-client-error.txt')).split('\n')
      const sentence = firstLine.replace(/^.*?: error TS\d+: /, '')
      expect(sentence).toContain('This call needs an actor=self token')
      expect(printedIn(await pageText('docs/concepts.md'))).toEqual([`${sentence}\n`])
    },
    'greet.mts': async ({ run, sandbox }) => {
      const [first] = sandbox.state.conversations
      expect(await run()).toMatchObject({ code: 0, stdout: 'Juniper Supplies\n' })
      expect(sandbox.state.messages(first?.id ?? '')[0]).toMatchObject({ body_html: '<p>Hi</p>' })

      const asApp = await run({ env: { SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'app' }) } })
      expect(asApp).toMatchObject({ code: 0, stdout: 'Juniper Supplies\n' })
      expect(sandbox.state.writes).toHaveLength(1)
    },
    'calls.mts': async ({ run, sandbox }) => {
      const { code, stdout } = await run()
      expect(code).toBe(0)
      expect(stdout).toMatch(/^20\d\d-/)
      const html = textToHtml('The total is < 100.\nBye')
      expect(sandbox.state.messages(sandbox.state.conversations[0]?.id ?? '')[0]).toMatchObject({ body_html: html })
      expect(await pageText('docs/concepts.md')).toContain(`// '${html}'`)
    },
  },
}
