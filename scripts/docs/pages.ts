import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { renderApiPage } from './api-page.ts'
import { Declarations } from './declarations.ts'
import { withEndpointTable } from './endpoint-table.ts'
import { readMe, readResources } from './resources.ts'

/** A generated file, with its current and its expected content. */
export interface GeneratedPage {
  readonly name: string
  readonly path: string
  readonly present: string
  readonly wanted: string
}

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

/** Generates the content of every file that is generated completely or in part. */
export async function generatePages(): Promise<GeneratedPage[]> {
  const entries = ['src/index.ts', 'src/oauth.ts', 'src/otel.ts', 'src/sandbox.ts']
  const declarations = new Declarations(root, entries)
  const me = readMe(declarations)
  const resources = readResources(declarations)
  const documented = [me, ...resources.flatMap(({ operations }) => operations)]
  const readme = await present('README.md')
  const [compileError = ''] = (await present('test/types/app-client-error.txt')).split('\n')
  return [
    page('api.md', await present('api.md'), renderApiPage(declarations, me, resources, compileError)),
    page('README.md', readme, withEndpointTable(readme, documented)),
  ]
}

function page(name: string, now: string, wanted: string): GeneratedPage {
  return { name, path: `${root}/${name}`, present: now, wanted }
}

async function present(name: string): Promise<string> {
  return readFile(`${root}/${name}`, 'utf8').catch(() => '')
}
