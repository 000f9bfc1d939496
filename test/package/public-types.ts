import { readFile } from 'node:fs/promises'
import ts from 'typescript'

/** Lists everything that a public declaration must not contain: `any`, and types of Node or of packages that are not allowed. */
export async function violationsIn(path: string, allowed: readonly string[] = []): Promise<string[]> {
  const source = ts.createSourceFile(path, await readFile(path, 'utf8'), ts.ScriptTarget.Latest, true)
  const violations = [...source.typeReferenceDirectives, ...source.libReferenceDirectives].map(
    ({ fileName }) => `refers to the types "${fileName}"`,
  )
  const visit = (node: ts.Node): void => {
    const line = () => source.getLineAndCharacterOfPosition(node.getStart()).line + 1
    if (node.kind === ts.SyntaxKind.AnyKeyword) violations.push(`has \`any\` in line ${line()}`)
    if (ts.isStringLiteral(node) && isModuleName(node) && !node.text.startsWith('.') && !allowed.includes(node.text)) {
      violations.push(`imports "${node.text}" in line ${line()}`)
    }
    if (ts.isIdentifier(node) && ['Buffer', 'NodeJS', 'process'].includes(node.text) && ts.isTypeNode(node.parent)) {
      violations.push(`names ${node.text} in line ${line()}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return violations
}

function isModuleName({ parent }: ts.StringLiteral): boolean {
  return (
    ts.isImportDeclaration(parent) ||
    ts.isExportDeclaration(parent) ||
    ts.isExternalModuleReference(parent) ||
    (ts.isLiteralTypeNode(parent) && ts.isImportTypeNode(parent.parent))
  )
}
