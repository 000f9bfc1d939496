import { readFile } from 'node:fs/promises'
import ts from 'typescript'

/** Lists everything that a public declaration must not contain: `any`, and types of Node or of packages that are not allowed. */
export async function violationsIn(path: string, allowed: readonly string[] = []): Promise<string[]> {
  const text = await readFile(path, 'utf8')
  const { importedFiles, typeReferenceDirectives, libReferenceDirectives } = ts.preProcessFile(text)
  const foreign = importedFiles.filter(({ fileName }) => !fileName.startsWith('.') && !allowed.includes(fileName))
  const violations = [...typeReferenceDirectives, ...libReferenceDirectives, ...foreign].map(
    ({ fileName }) => `refers to "${fileName}"`,
  )
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const visit = (node: ts.Node): void => {
    const line = () => source.getLineAndCharacterOfPosition(node.getStart()).line + 1
    if (node.kind === ts.SyntaxKind.AnyKeyword) violations.push(`has \`any\` in line ${line()}`)
    const isNameOfType = ts.isIdentifier(node) && (ts.isTypeNode(node.parent) || ts.isQualifiedName(node.parent))
    if (isNameOfType && ['Buffer', 'NodeJS', 'process'].includes(node.text)) {
      violations.push(`names ${node.text} in line ${line()}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return violations
}
