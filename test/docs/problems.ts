import ts from 'typescript'
import { root } from './page.ts'

/** Compiles files in strict mode, and returns the problems of those below a folder. */
export function problemsIn(files: readonly string[], folder: string): string[] {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const program = ts.createProgram(files, { ...options, noUnusedLocals: false })
  return ts
    .getPreEmitDiagnostics(program)
    .filter(({ file }) => file?.fileName.startsWith(folder))
    .map(({ file, messageText }) => {
      return `${file?.fileName.slice(folder.length + 1)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
    })
}
