import { expect, test } from 'vitest'
import { models, operations } from '../../src/api/index.ts'
import { operations as sandboxOperations } from '../../src/sandbox/server/app.ts'

// The sandbox is written from the documents, and marks by itself what it guesses.

const login = ['authorize', 'authorizeConsent', 'token']
const ofSandbox = Object.entries(sandboxOperations).filter(([name]) => !login.includes(name))
const byOperationId = new Map(Object.values(operations).map((operation) => [operation.operationId, operation]))

test('the sandbox has the operations of src/api, with the same names and requests', () => {
  const withoutNames = (request: string) => request.replaceAll(/\{\w+\}|:\w+/g, '{}')
  const found = ofSandbox.map(([name, { route, scope }]) => [name, withoutNames(route), scope])
  const expected = [...byOperationId].map(([name, { method, path, scope }]) => {
    return [name, withoutNames(`${method} ${path}`), scope]
  })
  expect(found.sort()).toEqual(expected.sort())
})

test.each(ofSandbox)('the sandbox and src/api agree on what of %s is a guess', (name, { guesses }) => {
  const { evidence, body } = byOperationId.get(name)!
  const fields = body === undefined ? [] : Object.entries(models[body].fields)
  const inferred = fields.filter(([, field]) => field.evidence === 'inferred').map(([field]) => field)
  expect(guesses).toEqual({ path: evidence === 'inferred', body: inferred })
})
