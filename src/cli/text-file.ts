import { isUtf8 } from 'node:buffer'
import { CommandError } from './errors.ts'
import { readBytes } from './private-files.ts'
import type { Terminal } from './terminal.ts'

/** Reads a text that a person has written, from a file or from stdin (`-`). A byte order mark is left out. */
export async function readText(path: string, terminal: Terminal): Promise<string> {
  const bytes = path === '-' ? await terminal.readAll() : await readBytes(path, terminal.io.signal)
  const name = path === '-' ? 'stdin' : path
  const isUtf16 = /^(fffe|feff|(?!00)..00(?!00)..00|00(?!00)..00(?!00)..)/.test(bytes.toString('hex', 0, 4))
  if (isUtf16) throw new CommandError(70, `${name} is UTF-16, as some editors write it.`, 'Save it as UTF-8.')
  if (!isUtf8(bytes)) {
    // Latin-1 has a character for each byte.
    const lines = bytes.toString('latin1').split('\n')
    const line = lines.findIndex((text) => !isUtf8(Buffer.from(text, 'latin1'))) + 1
    throw new CommandError(70, `Line ${line} of ${name} is not UTF-8.`, 'Save it as UTF-8 ("CSV UTF-8" in Excel).')
  }
  return bytes.toString('utf8').replace(/^\uFEFF/, '')
}
