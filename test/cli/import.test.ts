import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Sandbox } from 'support-workspace-sdk/sandbox'
import { beforeEach, describe, expect, test } from 'vitest'
import { useSandboxes } from '../sandbox/helpers.ts'
import { useFolder } from './folder.ts'
import { type Given, run, start } from './run.ts'

const startSandbox = useSandboxes()
const createFolder = useFolder()

let sandbox: Sandbox
let env: Record<string, string>
let folder: string
const place = (name: string) => join(folder, name)
/** Imports a text as a file. */
function importText(text: string | Buffer, ...args: string[]) {
  writeFileSync(place('contacts.csv'), text)
  return importFile('contacts.csv', ...args)
}
const importFile = (name: string, ...args: string[]) => runImport({ env }, name, ...args)
const runImport = (given: Given, name: string, ...args: string[]) =>
  run(['import', 'contacts', place(name), '--state', place('state'), '--json', ...args], given)
const addresses = () => sandbox.state.contacts.map(({ user }) => user.email)
const created = () => sandbox.requests.filter(({ method }) => method === 'POST')

beforeEach(async () => {
  sandbox = await startSandbox({ conversations: 1, contacts: 3 })
  env = { SUPPORT_WORKSPACE_URL: sandbox.url, SUPPORT_WORKSPACE_TOKEN: sandbox.issueToken({ actor: 'self' }) }
  folder = createFolder()
})

describe('import contacts', () => {
  test('creates each contact once, also if it runs again', async () => {
    const [existing = ''] = addresses()
    const text = `Email,Name\none@example.com,One\n ${existing.toUpperCase()} ,Old\ntwo@example.com,\nONE@example.com,Again\n`
    const { code, lines } = await importText(text)
    expect({ code, lines }).toMatchObject({ code: 0, lines: [{ created: 2, existed: 1, repeated: 1, failed: 0 }] })
    const methods = sandbox.requests.filter(({ path }) => path.endsWith('/contacts')).map(({ method }) => method)
    expect(methods).toEqual(['GET', 'POST', 'POST'])
    const bodies = [{ email: 'one@example.com', name: 'One' }, { email: 'two@example.com' }]
    expect(created().map(({ body }) => body)).toEqual(expect.arrayContaining(bodies))
    const again = await importFile('contacts.csv')
    expect(again.lines).toMatchObject([{ created: 0, createdBefore: 2, existed: 1, repeated: 1, failed: 0 }])
    expect(created()).toHaveLength(2)
  })

  test('counts a contact of an earlier run as `existed` if its row has changed', async () => {
    await importText('email,name\none@example.com,One\n')
    const { code, lines } = await importText('email,name\nOne@example.com,Uno\n')
    expect({ code, lines }).toMatchObject({ code: 0, lines: [{ created: 0, existed: 1, failed: 0 }] })
    expect(created()).toHaveLength(1)
  })

  test.each<[string, string, ...string[]]>([
    ['semicolons and a byte order mark', '\uFEFFemail;name\na@example.com;"A; B"\n'],
    ['line breaks in quotes and of Windows', 'email,name\r\n"a@example.com","A; B"\r\n\r\n'],
    ['other columns', 'E-Mail,email,name\na@example.com,old,A; B\n', '--map', 'E-Mail=email', '--map', 'email='],
    ['an empty column without a name', 'email,name,\r\na@example.com,"A; B",\r\n'],
    ['a column without a name', 'email,name,\na@example.com,"A; B",x\n', '--map', '#3='],
    ['rows of separators only', 'email,name\r\na@example.com,"A; B"\r\n,\r\n,\r\n'],
    ['a line that names the separator', 'sep=;\r\nemail;name\r\na@example.com;"A; B"\r\n'],
    ['tabs', 'email\tname\r\na@example.com\tA; B\r\n'],
    ['= in the name of a column', 'email,name,a=b\na@example.com,A; B,1\n', '--map', 'a=b='],
    ['columns that are left out', 'email,name,x,y\na@example.com,A; B,1,2\n', '--map', '*='],
  ])('reads a file with %s', async (_, text, ...args) => {
    expect((await importText(text, ...args)).code).toBe(0)
    expect(created().map(({ body }) => body)).toEqual([{ email: 'a@example.com', name: 'A; B' }])
  })

  describe('a file with broken rows', () => {
    const text =
      '\uFEFFE-Mail;Name\r\na@x.example;A\r\nb@x.example;B;too;many\r\nj@x.example;"J "M" M"\r\ne@x.example;E\r\n'
    const map = ['--map', 'E-Mail=email', '--map', 'Name=name']

    test('is refused with all of them', async () => {
      const { code, failure } = await importText(text, ...map)
      expect(code).toBe(70)
      expect(failure.message.split('\n')).toEqual([
        '2 rows are broken:',
        '  Line 3: The row has 4 cells, and the header has 2.',
        expect.stringMatching(/^ {2}Line 4: The row is not CSV: /),
      ])
      expect(sandbox.requests).toEqual([])
    })

    test('is imported without them by --skip-broken, and they go into the file of failed rows', async () => {
      const failed = place('failed.csv')
      const { code, lines } = await importText(text, ...map, '--skip-broken', '--failed', failed)
      expect({ code, lines }).toMatchObject({ code: 70, lines: [{ created: 2, failed: 2 }] })
      const rows = readFileSync(failed, 'utf8').split('\n')
      expect(rows[0]).toBe('reason;E-Mail;Name')
      expect(rows[1]).toMatch(/^"The row has 4 cells[^"]*";b@x\.example;B;too;many$/)
      expect(rows[2]).toMatch(/^"The row is not CSV[^"]*";j@x\.example;"J "M" M"$/)
    })
  })

  test.each<[string, string, string[], string[]]>([
    [
      'a quote that a later row closes',
      'email,name\na@x.example,A\nk@x.example,"Lee\nb@x.example,B\nc@x.example,C\np@x.example,"Pam"\nd@x.example,D\n',
      ['k@x.example,"Lee', 'b@x.example,B', 'c@x.example,C', 'p@x.example,"Pam"'],
      ['a@x.example', 'd@x.example'],
    ],
    [
      'a quote that nothing closes',
      'email,name\r\na@x.example,A\r\n\r\nk@x.example,"Lee\r\n\r\nb@x.example,B\r\n',
      ['k@x.example,"Lee', 'b@x.example,B'],
      ['a@x.example'],
    ],
    [
      'broken rows one after the other',
      'sep=,\nemail,name\nj@x.example,"J "M" M"\nk@x.example,"K "M" M"\na@x.example,A',
      ['j@x.example,"J "M" M"', 'k@x.example,"K "M" M"'],
      ['a@x.example'],
    ],
  ])('--skip-broken loses no line of a file with %s', async (_, text, lost, good) => {
    const { code, lines, stderr } = await importText(text, '--skip-broken', '--failed', place('failed.csv'))
    expect({ code, lines }).toMatchObject({ code: 70, lines: [{ created: good.length, failed: lost.length }] })
    expect(created().map(({ body }) => (body as { email: string }).email)).toEqual(good)
    const rows = readFileSync(place('failed.csv'), 'utf8').trimEnd().split('\n').slice(1)
    expect(rows.map((row) => row.replace(/^"The row is not CSV: [^"]*",/, ''))).toEqual(lost)
    const at = text.split(/\r?\n/)
    const noted = [...stderr.matchAll(/"line":(\d+),"outcome":"failed"/g)].map(([, line]) => at[Number(line) - 1])
    expect(noted).toEqual(lost)
  })

  const breaks = ['\n', '\r\n', '\r']
  // Each pair of two of them.
  test.each(breaks.flatMap((one, first) => breaks.map((two, second) => [one, two, breaks.at((first + second) % 3)])))(
    'the line breaks %j, %j and %j end a row each',
    async (one, two, three) => {
      const text = `email,name${one}a@x.example,A${two}b@x.example${three}c@x.example,"C${one}C"${two}d@x.example,D${three}`
      const { lines, stderr } = await importText(text, '--skip-broken')
      expect(lines).toMatchObject([{ created: 3, failed: 1 }])
      expect(stderr).toContain('Line 3: The row has 1 cell')
      const names = created().map(({ body }) => (body as { name: string }).name)
      expect(names.sort()).toEqual(['A', 'C\nC', 'D'])
    },
  )

  test('lists the rows that it has not created', async () => {
    const [existing = ''] = addresses()
    const { stderr } = await importText(`email\n${existing}\na@example.com\na@example.com\n`)
    const notes = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ outcome }) => outcome)
    expect(notes).toMatchObject([
      { line: 2, email: existing, outcome: 'existed' },
      { line: 4, email: 'a@example.com', outcome: 'repeated' },
    ])
  })

  test('needs --state unless it is a dry run', async () => {
    writeFileSync(place('contacts.csv'), 'email\na@example.com\n')
    const { code, stderr } = await run(['import', 'contacts', place('contacts.csv')], { env })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('An import needs --state.') })
    expect((await run(['import', 'contacts', place('contacts.csv'), '--dry-run'], { env })).code).toBe(0)
  })

  test.each([
    'email,phone,city\na@x.example,1,\n',
    'email,,x\na@x.example,1,\n',
    "email,a'b\na@x.example,1\n",
    'email,a=b\na@x.example,1\n',
    'email,Email\na@x.example,b@x.example\n',
    'Mail\na@x.example\n',
  ])('the option that the error about %j advises works', async (text) => {
    const { code, failure } = await importText(text, '--dry-run')
    expect(code).toBe(2)
    // As a shell reads it.
    const advised = [...String(failure.hint).matchAll(/--map '((?:[^']|'\\'')*)'/g)].map(([, given = '']) => {
      return given
        .replaceAll("'\\''", "'")
        .replace('FIELD', text.startsWith('Mail') ? 'email' : 'name')
        .replace('COLUMN', 'Mail')
    })
    expect(advised.length).toBeGreaterThan(0)
    const rest = advised.includes('*=') || text.startsWith('Mail') ? [] : ['*=']
    const maps = [...advised, ...rest].flatMap((map) => ['--map', map])
    expect(await importText(text, '--dry-run', ...maps)).toMatchObject({ code: 0 })
  })

  test('counts lines as an editor does, also in quotes', async () => {
    const { stderr } = await importText('"email","na;me"\r\n\r\n"a","x\r\ny\r\nz"\r\n,b\r\n', '--map', 'na;me=name')
    expect(stderr.match(/Line \d+/g)?.sort()).toEqual(['Line 5', 'Line 6'])
    expect((await importText('email,name\r\n"a\r\nb",c\r\nd\r\n')).failure.message).toContain('Line 4: The row has 1')
  })

  test('--failed has the rows as they were, with the words of the service, and imports again', async () => {
    const text = 'email;name\n"no address";"A ""quoted"" name"\ngood@example.com;Good\n;Nobody\n'
    const first = await importText(text, '--failed', place('failed.csv'))
    expect(first).toMatchObject({ code: 70, lines: [{ created: 1, failed: 2 }], failure: { exitCode: 70 } })
    const failed = readFileSync(place('failed.csv'), 'utf8').split('\n')
    expect(failed[0]).toBe('reason;email;name')
    expect(failed.slice(1, 3).sort()).toEqual([
      '"The row has no address.";;Nobody',
      expect.stringMatching(/^".*email.*";"no address";"A ""quoted"" name"$/),
    ])
    const repeated = await importFile('contacts.csv', '--failed', place('failed.csv'))
    expect(repeated).toMatchObject({ code: 70, failure: { hint: `Correct ${place('failed-2.csv')}, and import it.` } })
    expect(readFileSync(place('failed.csv'), 'utf8').split('\n')).toEqual(failed)
    const again = await importFile('failed.csv', '--failed', place('again.csv'))
    expect(again).toMatchObject({ code: 70, lines: [{ created: 0, failed: 2 }] })
    expect(readFileSync(place('again.csv'), 'utf8').split('\n').sort()).toEqual([...failed].sort())
  })

  test.each([
    ['too short', 'email,name\no@x.example\n', 'o@x.example', 'o@x.example,Olga'],
    ['not CSV', 'email,name\n"o@x.example,Olga\n', '"o@x.example,Olga', 'o@x.example,Olga'],
  ])(
    '--failed keeps a row that is %s as it was, however often it fails, until it is corrected',
    async (_, text, wrong, right) => {
      const import1 = await importText(text, '--skip-broken', '--failed', place('f1.csv'))
      expect(import1).toMatchObject({ code: 70, lines: [{ failed: 1 }] })
      const import2 = await importFile('f1.csv', '--skip-broken', '--failed', place('f2.csv'))
      expect(import2).toMatchObject({ code: 70, lines: [{ failed: 1 }] })
      const failed = readFileSync(place('f2.csv'), 'utf8')
      expect(failed).toMatch(/^reason,email,name\n"[^"]*",/)
      expect(failed.endsWith(`,${wrong}\n`)).toBe(true)
      writeFileSync(place('f2.csv'), failed.replace(`,${wrong}\n`, `,${right}\n`))
      expect(await importFile('f2.csv')).toMatchObject({ code: 0, lines: [{ created: 1 }] })
      expect(created().map(({ body }) => body)).toEqual([{ email: 'o@x.example', name: 'Olga' }])
    },
  )

  test('a contact that the service has refused as a duplicate is `failed`, in its words', async () => {
    const [existing = ''] = addresses()
    const { code, lines, stderr } = await importText(`email\n${existing}\n`, '--no-check')
    expect({ code, lines }).toMatchObject({ code: 70, lines: [{ failed: 1, existed: 0 }] })
    expect(stderr).toContain('Line 2: ')
    expect(sandbox.requests.some(({ method, path }) => method === 'GET' && path.endsWith('/contacts'))).toBe(false)
  })

  test('--dry-run sends nothing and leaves nothing behind', async () => {
    const [existing = ''] = addresses()
    const { code, lines } = await importText(`email\n${existing}\nnew@example.com\n`, '--dry-run')
    expect({ code, lines }).toMatchObject({ code: 0, lines: [{ created: 1, existed: 1, dryRun: true }] })
    expect(created()).toEqual([])
    expect(existsSync(place('state'))).toBe(false)
  })

  test('what may have been created is 65, and a person decides with `journal`', async () => {
    sandbox.faults.add({ method: 'POST', drop: 'before-effect' })
    const first = await importText('email\nlost@example.com\nfound@example.com\n', '--confirm-timeout', '0.01')
    expect(first).toMatchObject({ code: 65, lines: [{ created: 1, unconfirmed: 1 }] })
    expect(first.failure.next.slice(4)).toEqual(['journal', 'list', '--unconfirmed', '--state', place('state')])
    const journal = (...args: string[]) => run(['journal', ...args, '--state', place('state'), '--json'], { env })
    const [entry] = (await journal('list', '--unconfirmed')).lines
    expect(entry).toMatchObject({ state: 'unconfirmed', operation: 'contacts.create' })
    expect((await journal('list')).lines).toHaveLength(2)
    const shown = await run(['journal', 'list', '--state', place('state')], { terminals: ['stdout'], columns: 200 })
    expect(shown.stdout.split('\n')[0]).toMatch(/^state +key +operation +sent$/)
    const unknown = await journal('resolve', 'contact:nobody', 'absent')
    expect([unknown.code, unknown.failure.message]).toEqual([2, expect.stringContaining('has no record of the write')])
    const resolved = await journal('resolve', entry.key, 'absent')
    expect([resolved.code, resolved.lines]).toEqual([0, [{ key: entry.key, outcome: 'absent' }]])
    const last = await importFile('contacts.csv')
    expect(last).toMatchObject({ code: 0, lines: [{ created: 1, createdBefore: 1, unconfirmed: 0 }] })
    expect(addresses()).toEqual(expect.arrayContaining(['lost@example.com', 'found@example.com']))
  })

  test('stops when nothing is answered any more', async () => {
    sandbox.faults.add({ method: 'POST', drop: 'before-effect', times: Infinity })
    const rows = Array.from({ length: 20 }, (_, index) => `c${index}@example.com`)
    const { code, lines } = await importText(['email', ...rows].join('\n'), '--confirm-timeout', '0.01')
    expect(code).toBe(65)
    expect(lines[0].unconfirmed).toBeLessThan(12)
  })

  test('is an error if its counts are lost, unless there is another one', async () => {
    writeFileSync(place('good.csv'), 'email\na@example.com\n')
    writeFileSync(place('bad.csv'), 'email\nno address\n')
    const failures = [
      await runImport({ env, lost: 'ENOSPC' }, 'good.csv'),
      await runImport({ env, lost: 'ENOSPC' }, 'bad.csv'),
    ]
    expect(failures.map(({ failure }) => failure.message)).toEqual([
      expect.stringMatching(/^1 contact was created, but its output could not be written /),
      '1 row failed.',
    ])
  })

  test.each<[string | Buffer, number, string, ...string[]]>([
    ['name\nA\n', 2, 'No column is the address.'],
    ['email,constructor,__proto__\na,b,c\n', 2, 'It is not known what these columns are: constructor, __proto__.'],
    ['email,name\na@example.com\n', 70, 'Line 2: The row has 1 cell, and the header has 2.'],
    ['email\n"a\n', 70, 'is not CSV: Quote Not Closed.'],
    [Buffer.from('email\na\nM\xfcller\n', 'latin1'), 70, 'Line 3 of '],
    ['email\na\n', 2, 'There is no column "E-Mail".', '--map', 'E-Mail=email'],
  ])('refuses %j before anything is sent', async (text, exit, message, ...args) => {
    const { code, failure } = await importText(text, ...args)
    expect({ code, message: failure.message }).toEqual({ code: exit, message: expect.stringContaining(message) })
    expect(sandbox.requests).toEqual([])
  })

  test.each([
    ['NEW/none/failed.csv', 'none/ cannot be opened (ENOENT).'],
    ['NEW/contacts.csv/failed.csv', 'contacts.csv/ cannot be opened (ENOTDIR).'],
    ['', '--failed is no name of a file.'],
    ['-', '--failed is no name of a file.'],
  ])('refuses --failed %j before anything is sent', async (name, message) => {
    const failed = name.replace('NEW', folder)
    const { code, failure } = await importText('email\na@example.com\n', '--failed', failed)
    expect([code, failure.message]).toEqual([2, expect.stringContaining(message)])
    expect(sandbox.requests).toEqual([])
  })

  test.each([403, 409, 413])('a %i is about its row, and the others go on', async (status) => {
    sandbox.faults.add({ method: 'POST', status })
    const rows = Array.from({ length: 4 }, (_, index) => `c${index}@example.com,C\n`)
    const { code, lines, stderr } = await importText(`email,name\n${rows.join('')}`, '--failed', place('failed.csv'))
    expect({ code, lines }).toMatchObject({ code: 70, lines: [{ created: 3, failed: 1 }] })
    const [, line] = /"line":(\d+),"outcome":"failed"/.exec(stderr) ?? []
    expect(readFileSync(place('failed.csv'), 'utf8')).toContain(rows[Number(line) - 2]?.trim())
  })

  test.each<[number, object | undefined, number]>([
    [401, undefined, 77],
    [403, { error: 'insufficient_scope', required_scopes: ['contacts:write'] }, 77],
    [404, undefined, 3],
  ])('a %i is about all rows, and ends it', async (status, body, exit) => {
    sandbox.faults.add({ method: 'POST', status, body, times: Infinity })
    const rows = Array.from({ length: 20 }, (_, index) => `c${index}@example.com\n`)
    expect((await importText(`email\n${rows.join('')}`)).code).toBe(exit)
    expect(created().length).toBeLessThan(12)
  })

  test('reads a named pipe, and can be interrupted before a writer comes', async () => {
    execFileSync('mkfifo', [place('pipe')])
    const args = ['import', 'contacts', place('pipe'), '--state', place('state'), '--json']
    const waiting = start(args, { env })
    await new Promise((resolve) => setImmediate(resolve))
    waiting.interrupt()
    expect((await waiting.ended).code).toBe(130)
    const reading = start(args, { env })
    const writing = promisify(execFile)('sh', ['-c', `printf 'email\\na@example.com\\n' > ${place('pipe')}`])
    expect(await reading.ended).toMatchObject({ code: 0, lines: [{ created: 1 }] })
    await writing
  })
})

test('`journal` needs the folder of an import', async () => {
  expect((await run(['journal', 'list', '--state', place('none')])).code).toBe(3)
  expect((await run(['journal'])).stderr).toContain('A command is missing.')
})
