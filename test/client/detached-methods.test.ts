import { InvalidArgumentError, SupportWorkspace } from 'support-workspace-sdk'
import { expect, test } from 'vitest'
import { Resource } from '../../src/client/resources/resource.ts'
import { json, makeClient, scripted } from '../helpers/client.ts'

const workspace = makeClient({ fetch: scripted(json({ data: { id: 'c' } })) })
const resources = Object.entries(workspace).filter(([, value]) => value instanceof Resource)

const methodsOf = (object: object) => {
  const prototype: object = Object.getPrototypeOf(object)
  const methods = Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(([name]) => name !== 'constructor')
  return methods.flatMap(([name, { value }]) => (typeof value === 'function' ? [[name, value] as const] : []))
}

const methods = [
  ...methodsOf(workspace),
  ...resources.flatMap(([path, resource]) =>
    methodsOf(resource).map(([name, run]) => [`${path}.${name}`, run] as const),
  ),
]

test('there are methods of the client and of each resource', () => {
  expect(resources).toHaveLength(8)
  expect(methods.map(([path]) => path)).toEqual(expect.arrayContaining(['me', 'conversations.list', 'tasks.delete']))
})

test.each(methods)('%s says what is wrong if it is taken from its object', (path, run) => {
  const name = path.split('.').at(-1)
  for (const owner of [undefined, {}]) {
    expect(() => run.call(owner, 'GET', '/x')).toThrow(
      expect.objectContaining({
        constructor: InvalidArgumentError,
        argument: 'this',
        message: expect.stringContaining(`\`const { ${name} } = …\``),
        hint: `Call it on its object: \`workspace.${path}(…)\`.`,
      }),
    )
  }
})

test.each(['fromEnvironment', 'connect'] as const)(
  '%s says what is wrong if it is taken from its class',
  async (name) => {
    const run: (options: never) => unknown = SupportWorkspace[name]
    await expect((async () => run.call(undefined, {} as never))()).rejects.toMatchObject({
      constructor: InvalidArgumentError,
      argument: 'this',
      hint: `Call it on its object: \`SupportWorkspace.${name}(…)\`.`,
    })
  },
)
