/**
 * Makes calls that fail, in each shape that code has. Returns for each whether a line of the error's stack leads to this file.
 *
 * @param workspace a client whose calls of `organization.get` and lists of segments are refused
 */
export async function stacksOf(workspace) {
  const failing = () => workspace.organization.get()
  const list = () => workspace.segments.list()
  const shapes = {
    await: async () => await failing(),
    withResponse: async () => await failing().withResponse(),
    request: async () => await workspace.request('GET', '/organization'),
    nested: async () => await (async () => await failing())(),
    'for await': async () => {
      for await (const _ of list());
    },
    'for await of pages': async () => {
      for await (const _ of list().pages());
    },
    toArray: async () => await list().toArray(),
    page: async () => await list(),
    '.then': async () => await failing().then((data) => data),
    '.finally': async () => await failing().finally(() => {}),
    'Promise.all': async () => await Promise.all([failing()]),
    'Promise.race': async () => await Promise.race([failing()]),
    'awaited later': async () => {
      const call = failing()
      call.catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 200))
      return await call
    },
  }
  const rows = []
  for (const [name, shape] of Object.entries(shapes)) {
    const error = await shape().then(
      () => undefined,
      (thrown) => thrown,
    )
    rows.push(`${name} ${error.stack.includes('stacks.js') ? 'yes' : 'no'}`)
  }
  return rows.join(', ')
}
