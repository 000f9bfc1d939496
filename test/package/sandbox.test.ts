import { readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installPacked, type Project } from './packed.ts'

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url))
const formats = [
  ['program.mjs', (names: string, from: string) => `import { ${names} } from '${from}'`],
  ['program.cjs', (names: string, from: string) => `const { ${names} } = require('${from}')`],
] as const

let project: Project

beforeAll(async () => {
  project = await installPacked()
}, 300_000)

afterAll(() => project?.remove())

const withoutMsw = `
try {
  createSandbox().handlers()
} catch (error) {
  console.log(error.message)
}
`

const withMsw = `
const sandbox = createSandbox()
const server = setupServer(...sandbox.handlers('https://api.supportwire.app'))
server.listen()
const headers = { authorization: 'Bearer ' + sandbox.issueToken() }
fetch('https://api.supportwire.app/api/oauth/v1/me', { headers })
  .then((response) => response.json())
  .then(({ actor }) => console.log(actor, sandbox.requests.length))
  .finally(() => server.close())
`

test.each(formats)('handlers() names the command that installs msw if it is missing, in %s', async (name, load) => {
  await writeFile(join(project.folder, name), load('createSandbox', 'support-workspace-sdk/sandbox') + withoutMsw)
  expect(await project.run(process.execPath, name)).toContain('Run `npm install --save-dev msw`.')
})

test.each([
  ['msw', '3'],
  ['msw-2', '2'],
])('setupServer of %s intercepts requests with the handlers', async (folder, major) => {
  const link = join(project.folder, 'node_modules', 'msw')
  await symlink(join(modules, folder), link, 'junction')
  const version = await project.run(process.execPath, '-p', "require('msw/package.json').version")
  expect(version.split('.')[0]).toBe(major)
  for (const [name, load] of formats) {
    const imports = [load('setupServer', 'msw/node'), load('createSandbox', 'support-workspace-sdk/sandbox')]
    await writeFile(join(project.folder, name), imports.join('\n') + withMsw)
    expect(await project.run(process.execPath, name), name).toBe('app 1\n')
  }
  await rm(link)
})

const readsConsole = `
startSandbox().then(async (sandbox) => {
  const read = async (path) => (await fetch(sandbox.url + path)).text()
  const html = await read('/')
  const files = [...html.matchAll(/"(\\/_sandbox\\/console[^"]+)"/g)].map(([, path]) => path)
  const texts = await Promise.all(files.map(read))
  // Throws unless the script can be parsed on its own.
  new Function(texts[files.indexOf('/_sandbox/console.js')])
  console.log(files.join(), texts.every((text) => text.length > 1_000))
  await sandbox.close()
})
`

test.each(formats)('the sandbox carries its console, in %s', async (name, load) => {
  await writeFile(join(project.folder, name), load('startSandbox', 'support-workspace-sdk/sandbox') + readsConsole)
  expect(await project.run(process.execPath, name)).toBe('/_sandbox/console.css,/_sandbox/console.js true\n')
})

test('the command runs from the package', async () => {
  const { version } = JSON.parse(await readFile(join(project.installed, 'package.json'), 'utf8'))
  expect(await project.run(process.execPath, join(project.installed, 'dist/cli.js'), '--version')).toBe(`${version}\n`)
})
