import { relative } from 'node:path'
import ts from 'typescript'

/** A named export of an entry point, as declared in the published types. */
export interface Exported {
  readonly name: string
  /** Path of the source file, relative to the project's root. */
  readonly file: string
  readonly node: ts.DeclarationStatement | ts.VariableStatement
}

/** A public method of a class. */
export interface Method {
  readonly name: string
  /** Without the `this` parameter: `list(query?: ListQuery, options?: ListOptions): Paginated<Conversation>`. */
  readonly signature: string
  readonly doc: Doc
}

/** A parsed doc comment. */
export interface Doc {
  readonly text: string
  /** The first paragraph. */
  readonly summary: string
  /** The text of `@experimental`; undefined if there is none. */
  readonly experimental: string | undefined
}

/** The type declarations of the package, emitted in memory from its source. */
export class Declarations {
  readonly #program: ts.Program
  readonly #root: string
  readonly #emitted = new Map<string, ts.SourceFile>()

  constructor(root: string, entries: readonly string[]) {
    this.#root = root
    const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile)
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
    this.#program = ts.createProgram(
      entries.map((entry) => `${root}/${entry}`),
      { ...options, noEmit: false, emitDeclarationOnly: true, declaration: true, outDir: `${root}/out`, rootDir: root },
    )
    this.#program.emit(undefined, (path, text) => {
      const file = relative(`${root}/out`, path).replace(/\.d\.ts$/, '.ts')
      this.#emitted.set(file, ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
    })
  }

  /** Returns the exports of an entry point, sorted by name. */
  exportsOf(entry: string): Exported[] {
    const checker = this.#program.getTypeChecker()
    const source = this.#program.getSourceFile(`${this.#root}/${entry}`)
    const module = source && checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${entry} is not a module.`)
    return checker
      .getExportsOfModule(module)
      .flatMap((symbol) => {
        const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
        const path = target.declarations?.[0]?.getSourceFile().fileName ?? ''
        const file = relative(this.#root, path)
        const node = this.#find(file, target.name)
        return node === undefined ? [] : [{ name: symbol.name, file, node }]
      })
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Returns the public methods of a class, in source order. */
  methodsOf(file: string, className: string): { readonly doc: Doc; readonly methods: Method[] } {
    const node = this.#find(file, className)
    if (node === undefined || !ts.isClassDeclaration(node)) throw new Error(`${file} has no class ${className}.`)
    const methods = node.members.filter(ts.isMethodDeclaration).filter((member) => !isHidden(member))
    return {
      doc: docOf(node),
      methods: methods.map((method) => ({
        name: method.name.getText(),
        signature: signatureOf(method),
        doc: docOf(method),
      })),
    }
  }

  #find(file: string, name: string): Exported['node'] | undefined {
    for (const statement of this.#emitted.get(file)?.statements ?? []) {
      if (ts.isVariableStatement(statement)) {
        if (statement.declarationList.declarations.some((declared) => declared.name.getText() === name))
          return statement
      } else if (isNamed(statement) && statement.name?.getText() === name) return statement
    }
    return undefined
  }
}

/** Returns the declarations of the fields that a class adds to its parent. */
export function fieldsOf(node: ts.ClassDeclaration): { readonly text: string; readonly doc: Doc }[] {
  return node.members
    .filter(ts.isPropertyDeclaration)
    .filter((member) => !isHidden(member) && !isStatic(member))
    .map((member) => ({ text: oneLine(member.getText().replace(/^readonly /, '')), doc: docOf(member) }))
}

/** Returns the name of a class's parent. */
export function parentOf(node: ts.ClassDeclaration): string | undefined {
  const clause = node.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)
  return clause?.types[0]?.expression.getText()
}

/** Returns the source of a declaration, with its comments and without `export` and `declare`. */
export function sourceOf(node: ts.Node): string {
  const text = node.getFullText().trim()
  const shared = /^( +)\}$/m.exec(text)?.[1] ?? ''
  return (
    text
      .replaceAll(/^export (declare )?/gm, '')
      .replaceAll(/^ +#private;\n/gm, '')
      .replaceAll(/import\("[^"]+"\)\./g, '')
      .replaceAll(new RegExp(`^${shared}`, 'gm'), '')
      // The compiler indents by four, and starts comment lines one column further.
      .replaceAll(/^ +/gm, ({ length }) => ' '.repeat((length - (length % 4)) / 2 + (length % 4)))
      .replaceAll(/;$/gm, '')
  )
}

export function docOf(node: ts.Node): Doc {
  const comments = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  const tags = ts.getJSDocTags(node)
  const experimental = tags.find(({ tagName }) => tagName.text === 'experimental')
  const text = ts.getTextOfJSDocComment(comments.at(-1)?.comment) ?? ''
  return {
    text: oneLine(text),
    summary: oneLine(text.split(/\n\s*\n/, 1)[0] ?? ''),
    experimental: experimental && oneLine(ts.getTextOfJSDocComment(experimental.comment) ?? ''),
  }
}

function signatureOf(method: ts.MethodDeclaration): string {
  const parameters = method.parameters.filter((parameter) => parameter.name.getText() !== 'this')
  const generics = method.typeParameters?.map((parameter) => parameter.getText()).join(', ')
  const list = parameters.map((parameter) => parameter.getText()).join(', ')
  return oneLine(`${method.name.getText()}${generics ? `<${generics}>` : ''}(${list}): ${method.type?.getText()}`)
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replace(/;$/, '').trim()
}

function isNamed(statement: ts.Statement): statement is ts.DeclarationStatement {
  return (
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isFunctionDeclaration(statement)
  )
}

function isHidden(member: ts.ClassElement): boolean {
  const flags = ts.getCombinedModifierFlags(member)
  return (
    (flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0 ||
    (member.name !== undefined && ts.isPrivateIdentifier(member.name))
  )
}

function isStatic(member: ts.ClassElement): boolean {
  return (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static) !== 0
}
