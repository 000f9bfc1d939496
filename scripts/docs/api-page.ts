import ts from 'typescript'
import { operations } from '../../src/resources/operations.ts'
import { type Declarations, docOf, type Exported, fieldsOf, parentOf, sourceOf } from './declarations.ts'
import { actorOf, alignTable } from './endpoint-table.ts'
import type { DocumentedOperation, DocumentedResource } from './resources.ts'

/** Returns the page that lists every method with its types, and every other export. */
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
    '## Models\n\nFields have the names of the API. Unknown fields are kept. Every field except an `id` can be null or absent.',
    ...models.map(renderSource),
    '## Options, results, events',
    ...rest.map(renderSource),
    '## Errors\n\n`LoginError` is exported by `support-workspace-sdk/oauth`. Each class lists the fields that it adds to its parent.',
    ...errors.map(renderError),
    renderEntry('oauth', 'OAuth login and the connection store', declarations, main),
    renderEntry('otel', 'OpenTelemetry spans. Requires `@opentelemetry/api`', declarations, main),
    renderEntry('sandbox', 'The local service, for Node only', declarations, main),
  ].join('\n\n')}\n`
}

const introduction = (compileError: string) => `# API

Generated from the operations and the type declarations by \`npm run docs\`. Do not edit this page.

Every method takes the ids in its path, in order, then the body or query, then the options of the call.
\`Call<T>\` is a promise of \`T\`. Its \`withResponse()\` also returns status, headers and request id. Await a \`Paginated<T>\`
for the first page, or iterate it for every item.

The evidence of an operation says how certain it is:

- **specification**, **reference**: the service documents it.
- **inferred**: a guess by analogy. The method is \`@experimental\`. The error of a 404 or 405 says how to call another path.

Actor \`self\`: the operation needs an \`actor=self\` token. On a client with \`actor: 'app'\` it does not compile:

\`\`\`text
${compileError}
\`\`\`

In JavaScript it rejects with an \`ActorSelfRequiredError\` before anything is sent. If the actor is unknown, the call
compiles and the service decides.`

const unknownPaths = `## Endpoints without a documented path

The service's documents name two more resources but give no path for them: the **filter options of conversations** and
the **attributes of contacts** (which may be just the \`attributes\` field). If you know the path, call it with
\`defineOperation\` and \`workspace.call\`.`

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

/** Lists the exports of another entry point that the main one does not have. */
function renderEntry(entry: string, what: string, declarations: Declarations, main: readonly Exported[]): string {
  const lines = declarations
    .exportsOf(`src/${entry}.ts`)
    .filter(({ name }) => !main.some((exported) => exported.name === name))
    .map(({ name, node }) => [`- \`${name}\``, docOf(node).summary].filter((part) => part !== '').join(': '))
  return `## support-workspace-sdk/${entry}\n\n${what}. The declarations have the full documentation.\n\n${lines.join('\n')}`
}

/** Returns the union type with all its members, instead of the type that computes it. */
function operationIds(): string {
  return `type OperationId =\n${operations.map(({ id }) => `  | '${id}'`).join('\n')}`
}

function code(text: string): string {
  return `\`\`\`ts\n${text}\n\`\`\``
}
