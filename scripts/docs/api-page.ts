import ts from 'typescript'
import { operations } from '../../src/resources/operations.ts'
import { type Declarations, docOf, type Exported, fieldsOf, parentOf, sourceOf } from './declarations.ts'
import { actorOf, alignTable } from './endpoint-table.ts'
import type { DocumentedOperation, DocumentedResource } from './resources.ts'

/** The page that lists every call with its types, and everything else that can be imported. */
export function renderApiPage(
  declarations: Declarations,
  me: DocumentedOperation,
  resources: readonly DocumentedResource[],
  compileError: string,
): string {
  const main = declarations.exportsOf('src/index.ts')
  const inFolder = (folder: string) => main.filter(({ file }) => file.startsWith(folder))
  const models = inFolder('src/models/')
  const errors = declarations
    .exportsOf('src/oauth.ts')
    .filter(({ name }) => name === 'LoginError')
    .concat(inFolder('src/errors/'))
  const rest = main.filter(({ file, name }) => !/^src\/(models|errors)\//.test(file) && name !== 'SupportWorkspace')
  return `${[
    introduction(compileError),
    renderClient(declarations, me),
    ...resources.map(renderResource),
    unknownPaths,
    '## Models\n\nFields are as the service sends them, and unknown ones survive. Every field but an `id` may be null or absent.',
    ...models.map(renderSource),
    '## Options, results, events',
    ...rest.map(renderSource),
    '## Errors\n\n`LoginError` comes from `support-workspace-sdk/oauth`. Fields are those that a class adds to its parent.',
    ...errors.map(renderError),
    renderEntry('oauth', 'The OAuth login', declarations, main),
    renderEntry('sandbox', 'The local service, for Node', declarations, main),
  ].join('\n\n')}\n`
}

const introduction = (compileError: string) => `# API

Made from the operation table and the declarations by \`node scripts/generate-docs.ts\`: change those, not this page.

Every method takes the ids of its path, in the path's order, then the body or query, then the options of the call.
\`Call<T>\` is a promise of \`T\` with \`withResponse()\` for status, headers and request id. \`Paginated<T>\` is awaited
for the first page and iterated for every item.

Each operation says how it is known:

- **specification**, **reference**: the service documents it.
- **inferred**: a guess by analogy. The method is \`@experimental\`, and a 404 or 405 on it says how to call another path.

Actor \`self\`: only an \`actor=self\` token may call it. On a client made with \`actor: 'app'\` it does not compile:

\`\`\`text
${compileError}
\`\`\`

From JavaScript it throws \`ActorSelfRequiredError\` before anything is sent. With the actor unknown it compiles, and the
service decides.`

const unknownPaths = `## Known to exist, without a known path

The service's documents name two more things that can be read, but no path for them: the **filter options of
conversations** and the **attributes of contacts** (those may only be the \`attributes\` field). Once you know the path,
\`defineOperation\` and \`workspace.call\` reach them like any other.`

function renderClient(declarations: Declarations, me: DocumentedOperation): string {
  const { doc, methods } = declarations.methodsOf('src/client.ts', 'SupportWorkspace')
  const signature = (name: string) => methods.find((method) => method.name === name)
  const parts = ['connect', 'call', 'request'].map((name) => {
    const method = signature(name)
    if (method === undefined) throw new Error(`SupportWorkspace has no ${name}.`)
    const owner = name === 'connect' ? 'SupportWorkspace' : 'workspace'
    return `### ${owner}.${name}\n\n${code(`${owner}.${method.signature}`)}\n\n${method.doc.text}`
  })
  return [
    `## SupportWorkspace\n\n${code('new SupportWorkspace(options: ClientOptions)')}\n\n${doc.text}`,
    renderOperation(me),
    ...parts,
  ].join('\n\n')
}

function renderResource({ name, doc, operations }: DocumentedResource): string {
  return [`## workspace.${name}`, doc.text, ...operations.map(renderOperation)].join('\n\n')
}

function renderOperation({ operation, method, call }: DocumentedOperation): string {
  const { method: verb, path, scope, evidence } = operation
  const facts = [
    ['Request', 'Scope', 'Actor', 'Evidence'],
    [`\`${verb} ${path}\``, scope === undefined ? 'none' : `\`${scope}\``, actorOf(operation), `**${evidence}**`],
  ]
  return [
    `### ${call}`,
    code(`${call.slice(0, call.lastIndexOf('.'))}.${method.signature}`),
    method.doc.text,
    ...(method.doc.experimental === undefined ? [] : [`> Experimental. ${method.doc.experimental}`]),
    alignTable(facts),
  ].join('\n\n')
}

function renderSource({ name, node }: Exported): string {
  if (name === 'OperationId') return `### OperationId\n\n${docOf(node).text}\n\n${code(operationIds())}`
  return `### ${name}\n\n${code(sourceOf(node))}`
}

function renderError({ name, node }: Exported): string {
  if (!ts.isClassDeclaration(node)) return renderSource({ name, file: '', node })
  const parent = parentOf(node)
  const fields = fieldsOf(node).map(({ text, doc }) => `- \`${text}\`: ${doc.text}`)
  return [`### ${name}`, `${parent && `Extends \`${parent}\`. `}${docOf(node).text}`, fields.join('\n')]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** The names of another entry point, without those that the main one exports too. */
function renderEntry(entry: string, what: string, declarations: Declarations, main: readonly Exported[]): string {
  const lines = declarations
    .exportsOf(`src/${entry}.ts`)
    .filter(({ name }) => !main.some((exported) => exported.name === name))
    .map(({ name, node }) => [`- \`${name}\``, docOf(node).summary].filter((part) => part !== '').join(': '))
  return `## support-workspace-sdk/${entry}\n\n${what}. Each name is documented in its declaration.\n\n${lines.join('\n')}`
}

/** The union as it is, and not as it is computed. */
function operationIds(): string {
  return `type OperationId =\n${operations.map(({ id }) => `  | '${id}'`).join('\n')}`
}

function code(text: string): string {
  return `\`\`\`ts\n${text}\n\`\`\``
}
