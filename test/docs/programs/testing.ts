import { readFile, writeFile } from 'node:fs/promises'
import { expect, onTestFinished } from 'vitest'
import { isFull } from '../../../proofs/is-full.ts'
import { startProxy } from '../../helpers/proxy.ts'
import { certificatePath, startTlsServer } from '../../helpers/tls-server.ts'
import { root } from '../page.ts'
import type { Program, Programs, Reader } from '../reader.ts'

/** Runs a program whose call must reach the service through a proxy. */
const throughProxy: Program = async ({ run, sandbox }) => {
  const proxy = await startProxy()
  onTestFinished(() => proxy.close())
  const { stdout, stderr } = await run({ env: { PROXY_URL: proxy.url } })
  expect(stdout, stderr).toBe('self\n')
  expect(proxy.hosts).toEqual([new URL(sandbox.url).host])
}

/** Runs a file of tests as a reader does, and counts the tests that passed. */
function passes(file: string, count: number, env: Record<string, string | undefined> = {}) {
  return async ({ run }: Reader): Promise<void> => {
    const { stdout, stderr } = await run({ file: 'node_modules/vitest/vitest.mjs', args: ['run', file], env })
    expect(stdout, stderr).toMatch(new RegExp(`Tests +${count} passed \\(${count}\\)`))
  }
}

/** Tests the whole program of docs/fault-tests.md. */
const testsProgram = `import { faultTestProgram } from 'support-workspace-sdk/fault-test'
const report = await faultTestProgram([process.execPath, 'reply.mts'], { quick: true, sandbox: { conversations: 1 } })
report.assert()
console.log(...report.writes)
`

/** Tests the function of that program, in the process of the test. */
const testsFunction = `import { faultTest } from 'support-workspace-sdk/fault-test'
import { WriteJournal } from 'support-workspace-sdk/journal'
import { replyToAll } from './reply-to-all.mts'
const job = ({ workspace, storage }) => replyToAll(workspace, new WriteJournal({ workspace, storage }))
const report = await faultTest(job, { sandbox: { conversations: 1 } })
report.assert()
console.log(...report.writes)
`

export const testing: Programs = {
  'docs/testing.md': {
    'reply.test.ts': passes('reply.test.ts', 2),
    'login.test.ts': passes('login.test.ts', 1, {
      SUPPORT_WORKSPACE_URL: undefined,
      SUPPORT_WORKSPACE_CLIENT_ID: undefined,
      SUPPORT_WORKSPACE_CLIENT_SECRET: undefined,
      SUPPORT_WORKSPACE_REDIRECT_URI: undefined,
      LOGIN_SECRET: undefined,
    }),
    'msw.test.ts': passes('msw.test.ts', 1),
  },
  'docs/fault-tests.md': {
    'reply.test.ts': async ({ run }) => {
      const { code, stdout, stderr } = await run({
        file: 'node_modules/vitest/vitest.mjs',
        args: ['run', 'reply.test.ts'],
      })
      expect(code).toBe(1)
      const page = await readFile(`${root}docs/fault-tests.md`, 'utf8')
      const [, report = ''] = /```text\n([\s\S]+?)```/.exec(page) ?? []
      expect(report).toContain('DOUBLED: ')
      for (const part of report.split(/…|\n/)) expect(stdout + stderr).toContain(part.trim())
    },
    'add-contact.test.ts': async (reader) => {
      await passes('add-contact.test.ts', 1)(reader)
      // A job that forgets the database is found by `check`.
      const file = `${reader.folder}/add-contact.test.ts`
      const code = await readFile(file, 'utf8')
      expect(code).toContain('.run(id)')
      await writeFile(file, code.replace('.run(id)', ''))
      const args = ['run', 'add-contact.test.ts']
      const { code: exit, stdout, stderr } = await reader.run({ file: 'node_modules/vitest/vitest.mjs', args })
      expect(exit).toBe(1)
      expect(stdout + stderr).toContain('`check` failed without a fault')
    },
    'reply.mts': async ({ folder, run, useSandbox }) => {
      const sandbox = await useSandbox({ conversations: 1 })
      const { code, stderr } = await run()
      expect(code, stderr).toBe(0)
      expect(sandbox.state.writes).toHaveLength(2)
      const printed = async (file: string, program: string) => {
        await writeFile(`${folder}/${file}`, program)
        const { stdout, stderr } = await run({ file })
        return stdout + stderr
      }
      const writes = /^messages\.create notes\.create$/m // among the lines of the job or the progress
      expect(await printed('function.mts', testsFunction)).toMatch(writes)
      if (!isFull) return
      expect(await printed('whole.mts', testsProgram)).toMatch(writes)
      // The wrong key that the page on journals names is found: a crash loses a note.
      const right = await readFile(`${folder}/reply-in.mts`, 'utf8')
      const wrong = right.replace(/(?<=\[`reply:\$\{)message\.id/, 'crypto.randomUUID()')
      expect(wrong).not.toBe(right)
      await writeFile(`${folder}/reply-in.mts`, wrong)
      const lost = 'LOST: the process killed after the effect at request'
      expect(await printed('function.mts', testsFunction)).toContain(lost)
    },
  },
  'docs/logging.md': {
    'logging.mts': async ({ run }) => {
      const { stdout } = await run()
      const lines = stdout.trim().split('\n')
      expect(lines).toEqual([
        expect.stringMatching(
          /^support-workspace-sdk: GET \/api\/oauth\/v1\/organization 200 in \d+ ms \(attempt 1, request id [\w-]+\)$/,
        ),
        expect.stringMatching(/^support-workspace-sdk: GET \/api\/oauth\/v1\/contacts\/\{id\} 404 NotFoundError in /),
        expect.stringMatching(/^\{"name":"NotFoundError",/),
      ])
      const error = JSON.parse(lines.at(-1) ?? '')
      expect(error).toMatchObject({ name: 'NotFoundError', operation: 'contacts.get', outcome: 'refused' })
      expect(stdout).not.toContain('swot_')
      const page = await readFile(`${root}docs/logging.md`, 'utf8')
      const [, sentence = ''] = /^Errors serialize to plain objects: ([^.]+)\./m.exec(page) ?? []
      expect([...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual(Object.keys(error).sort())
    },
    'hooks.mts': async ({ run, sandbox }) => {
      sandbox.failNext({ status: 503 })
      const { stdout, stderr } = await run()
      const [members = '', contacts = '', counts] = stdout.trim().split('\n')
      expect(JSON.parse(members)).toMatchObject({ operation: 'members.list', status: 200, attempts: 2 })
      expect(JSON.parse(contacts)).toMatchObject({ operation: 'contacts.list', status: 200, attempts: 1 })
      expect(counts).toBe("{ 'members.list 200': 1, 'contacts.list 200': 1 }")
      expect(stderr).toBe('Retrying members.list after 503\n')
    },
    'tracing.mts': async ({ run, sandbox }) => {
      const { stdout } = await run()
      const values = (field: string) => [...stdout.matchAll(new RegExp(`^  ${field}: '(.+)'`, 'gm'))].map(([, v]) => v)
      expect(values('name')).toEqual(['GET /api/oauth/v1/organization', 'organization.get', 'nightly sync'])
      expect(values('traceId')).toHaveLength(3)
      expect(new Set(values('traceId')).size).toBe(1)
      expect(sandbox.requests.at(-1)?.headers.traceparent).toBeUndefined()
    },
  },
  'docs/proxies.md': {
    'custom-fetch.mts': throughProxy,
    'mutual-tls.mts': async ({ run, sandbox }) => {
      const { url, close } = await startTlsServer(sandbox.url, { requestCert: true })
      onTestFinished(close)
      const env = {
        SUPPORT_WORKSPACE_URL: url,
        CA_FILE: certificatePath('ca'),
        CERT_FILE: certificatePath('client'),
        KEY_FILE: certificatePath('key'),
      }
      const { stdout, stderr } = await run({ env })
      expect(stdout, stderr).toBe('self\n')
      const refused = await run({ env: { ...env, CERT_FILE: certificatePath('self-signed') } })
      expect([refused.code, refused.stdout]).toEqual([1, ''])
    },
  },
}
