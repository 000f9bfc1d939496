import { expect, test } from 'vitest'
import { operations } from '../../src/api/index.ts'
import { operations as sandboxOperations } from '../../src/sandbox/server/app.ts'

// The sandbox is written from the documents, without src/api.

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
