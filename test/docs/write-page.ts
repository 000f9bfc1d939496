import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Page, root } from './page.ts'

/** Inside the project, so that the programs of a page resolve its packages. */
export const examplesFolder = `${root}test/docs/.examples`

/** Writes the files of a page into a folder, for tests that call what they export. */
export async function writePage(page: Page, folder: string): Promise<void> {
  for (const [name, code] of page.files) {
    await mkdir(dirname(`${folder}/${name}`), { recursive: true })
    await writeFile(`${folder}/${name}`, code)
  }
}
