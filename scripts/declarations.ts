// Writes the declarations of the entry points, for ES modules and for CommonJS: a file for each source file, with what the
// public types need of it.
//
//   node scripts/declarations.ts dist
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import ts from 'typescript'

type Specifier = ts.ImportSpecifier | ts.ExportSpecifier

const root = join(import.meta.dirname, '..')
const source = join(root, 'src')
const out = resolve(process.argv[2] ?? 'dist')
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> }
const entries = Object.keys(exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => join(source, path.slice(2), 'index.ts'))
/** Copied, so that users need not install the package. */
const standardSchema = join(root, 'node_modules/@standard-schema/spec/dist/index.d.ts')

const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
const emitOptions = { ...options, noEmit: false, emitDeclarationOnly: true, stripInternal: true }
const files = new Map([[standardSchema, parse(readFileSync(standardSchema, 'utf8'))]])
ts.createProgram(entries, emitOptions).emit(undefined, (_path, text, _mark, _error, [file] = []) => {
  if (file !== undefined) files.set(file.fileName, parse(text))
})

const needed = new Map<string, Set<ts.Statement | Specifier>>()
for (const entry of entries) {
  for (const statement of statementsOf(entry)) {
    for (const name of [...specifiersOf(statement).map((specifier) => specifier.name.text), ...namesOf(statement)]) {
      need(entry, name)
    }
  }
}
for (const file of needed.keys()) {
  write(file, '.d.ts', '.js')
  write(file, '.d.cts', '.cjs')
}

/** Marks what binds a name in a file, and everything that this refers to. */
function need(file: string, name: string): void {
  const marked = needed.get(file) ?? new Set()
  needed.set(file, marked)
  for (const statement of statementsOf(file)) {
    for (const specifier of specifiersOf(statement)) {
      if (specifier.name.text !== name || marked.has(specifier)) continue
      marked.add(specifier)
      const target = targetOf(file, moduleNameOf(statement))
      if (target !== undefined) need(target, (specifier.propertyName ?? specifier.name).text)
    }
    if (!namesOf(statement).includes(name) || marked.has(statement)) continue
    marked.add(statement)
    needReferences(file, statement)
  }
}

function needReferences(file: string, node: ts.Node): void {
  if (ts.isIdentifier(node)) need(file, node.text)
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal)) {
    const target = targetOf(file, node.argument.literal.text)
    if (target !== undefined && node.qualifier !== undefined) need(target, node.qualifier.getText())
  }
  ts.forEachChild(node, (child) => needReferences(file, child))
}

function write(file: string, types: string, code: string): void {
  const marked = needed.get(file)
  const kept = statementsOf(file).map((statement) => {
    if (marked?.has(statement)) return statement.getFullText()
    const specifiers = specifiersOf(statement).filter((specifier) => marked?.has(specifier))
    const names = specifiers.map((specifier) => specifier.getText()).join(', ')
    return names === '' ? '' : statement.getFullText().replace(/\{[^}]*\}/, `{ ${names} }`)
  })
  const text = kept.join('').replaceAll(/(?<=from |import\()(['"])(.+?)\1/g, (all, _quote, name) => {
    const target = targetOf(file, name)
    if (target === undefined) return all
    const path = join(relative(dirname(nameOf(file)), dirname(nameOf(target))), basename(nameOf(target)))
    return `'${path.startsWith('.') ? path : `./${path}`}${code}'`
  })
  const path = join(out, nameOf(file) + types)
  // Comments name pages from the root of the package, which is the parent of this folder.
  const toRoot = '../'.repeat(nameOf(file).split(sep).length)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${text.trim().replaceAll('](docs/', `](${toRoot}docs/`)}\n`)
}

function parse(text: string): ts.SourceFile {
  return ts.createSourceFile('', text, ts.ScriptTarget.Latest, true)
}

function statementsOf(file: string): readonly ts.Statement[] {
  return files.get(file)?.statements ?? []
}

/** Returns the names in the braces of an import or a re-export. */
function specifiersOf(statement: ts.Statement): readonly Specifier[] {
  const names = ts.isImportDeclaration(statement)
    ? statement.importClause?.namedBindings
    : ts.isExportDeclaration(statement) && statement.exportClause
  return names && (ts.isNamedImports(names) || ts.isNamedExports(names)) ? [...names.elements] : []
}

/** Returns the names that a statement declares. */
function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.map(({ name }) => name.getText())
  const { name } = statement as ts.DeclarationStatement
  return name === undefined ? [] : [name.getText()]
}

function moduleNameOf(statement: ts.Statement): string {
  const { moduleSpecifier } = statement as ts.ImportDeclaration | ts.ExportDeclaration
  return moduleSpecifier && ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : ''
}

/** Returns the file that an import leads to, unless that belongs to a package that users install. */
function targetOf(file: string, moduleName: string): string | undefined {
  if (moduleName === '@standard-schema/spec') return standardSchema
  if (!moduleName.startsWith('.')) return undefined
  const path = join(dirname(file), moduleName)
  // The compiler writes the type of an inferred constant as the import of a folder.
  return path.endsWith('.ts') ? path : join(path, 'index.ts')
}

/** Returns the path of a file of `src` below it, without its extension. */
function nameOf(file: string): string {
  return file === standardSchema ? 'standard-schema' : relative(source, file).replace(/(\/index)?\.ts$/, '')
}
