import { spawnSync } from 'node:child_process'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { textToHtml } from 'support-workspace-sdk'
import { expect } from 'vitest'
import { root } from '../page.ts'
import type { Programs } from '../reader.ts'

const pageText = (path: string) => readFile(`${root}${path}`, 'utf8')

/** Returns the blocks of what a program prints. */
const printedIn = (page: string) => [...page.matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(([, text]) => text)

export const start: Programs = {
  'README.md': {
    'first.mjs': async ({ run }) => {
      const { code, stdout } = await run()
      expect(code).toBe(0)
      expect(stdout).toMatch(/^(cnv_\S+ \S.*\n){3}Sent msg_\S+\n$/)
    },
    'writing.mts': async ({ run, sandbox }) => {
      expect(await run()).toMatchObject({ code: 0 })
      const [id] = sandbox.state.writes.map(({ id }) => id)
      const bodies = sandbox.state.messages(id ?? '').map(({ body_html }) => body_html)
      expect(bodies).toContain('<p>On it, Ada.</p>')
      expect(sandbox.state.writes).toHaveLength(3)
    },
    'desk.mts': async ({ run, sandbox }) => {
      expect(await run()).toMatchObject({ code: 0, stdout: '' })
      const [asked, answered, removed = ''] = sandbox.state.conversations.map(({ id }) => id)
      // Two messages of the same second, of which only the last is answered.
      sandbox.receiveMessage(asked ?? '', '<p>Where is it?</p>')
      const last = sandbox.receiveMessage(asked ?? '', '<p>My parcel, I mean.</p>')
      const other = sandbox.receiveMessage(answered ?? '', '<p>And mine?</p>')
      // A conversation that is removed after the feed has read it.
      sandbox.receiveMessage(removed, '<p>Never mind.</p>')
      const path = new RegExp(`${removed}/messages`)
      sandbox.faults.add({ path, after: 1, times: Number.POSITIVE_INFINITY, status: 404 })
      const { code, stdout } = await run()
      expect(code).toBe(0)
      expect(stdout).toContain(`reply:${last} sent\n`)
      expect(stdout).toContain(`reply:${other} sent\n`)
      expect(sandbox.state.writes.length).toBe(stdout.split(' sent\n').length - 1)
      expect(await run()).toMatchObject({ code: 0, stdout: '' })
    },
    'login.mts': async ({ serve }) => {
      const { url } = await serve()
      const started = await fetch(url, { redirect: 'manual' })
      const consent = await fetch(started.headers.get('location') ?? '', { redirect: 'manual' })
      const cookie = started.headers
        .getSetCookie()
        .map((each) => each.split(';')[0])
        .join('; ')
      const connected = await fetch(consent.headers.get('location') ?? '', { headers: { cookie } })
      expect(await connected.text()).toBe('Connected: conversations:read messages:write')
    },
    'errors.mts': async ({ run, sandbox }) => {
      const printed = async (env = {}) => (await run({ env })).stdout.trim().split('\n')
      expect((await printed()).join()).toMatch(/^Created \S+$/)
      sandbox.faults.add({ status: 429, retryAfter: 600 })
      expect(await printed()).toEqual([expect.stringContaining('429'), 'Run this again later.'])
      sandbox.faults.add({ drop: 'after-effect' })
      const verify = 'Check whether the contact exists before you run this again.'
      expect(await printed()).toEqual([expect.stringContaining('contacts.create'), verify])
      const asApp = { SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'app' }) }
      const fix = 'Change the code or the configuration first.'
      expect(await printed(asApp)).toEqual([expect.stringContaining('actor'), fix])
      const revoked = { SUPPORT_WORKSPACE_TOKEN: 'swot_revoked' }
      expect(await printed(revoked)).toEqual([expect.stringContaining('invalid_token'), 'Log in again.'])
    },
  },

  'AGENTS.md': {
    'first-reply.mts': async ({ run }) => {
      expect(await run()).toMatchObject({ code: 0, stdout: 'Sent\n' })
    },
  },

  'docs/service-token.md': {
    'report.mts': async ({ run, sandbox, folder }) => {
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

      // Only the user can read the file with the token.
      const [command = ''] = /^.*> token\.txt.*$/m.exec(await pageText('docs/service-token.md')) ?? []
      await writeFile(`${folder}/npx`, '#!/bin/sh\necho swot_token', { mode: 0o755 })
      spawnSync('sh', ['-c', `umask 022; ${command}`], { cwd: folder, env: { PATH: `${folder}:${process.env.PATH}` } })
      expect(await readFile(`${folder}/token.txt`, 'utf8')).toBe('swot_token\n')
      expect((await stat(`${folder}/token.txt`)).mode & 0o777).toBe(0o600)
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
