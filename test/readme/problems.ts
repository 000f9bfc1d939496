import ts from 'typescript'
import { root } from './examples.ts'

/** Compiles files in strict mode with the globals of the examples, and returns the problems of those below a folder. */
export function problemsIn(files: readonly string[], folder: string): string[] {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const globals = ['globals.d.ts', 'comment-globals.d.ts'].map((name) => `${root}test/readme/${name}`)
  const program = ts.createProgram([...files, ...globals], { ...options, noUnusedLocals: false })
  return ts
    .getPreEmitDiagnostics(program)
    .filter(({ file }) => file?.fileName.startsWith(folder))
    .map(({ file, messageText }) => {
      return `${file?.fileName.slice(folder.length + 1)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
    })
}
