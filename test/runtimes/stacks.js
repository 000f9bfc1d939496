/**
 * Makes calls that fail, in each shape that code has. Returns how many lines of the package come before the line of the caller
 * in the stack of the error, or "no" if no line leads there.
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
    rows.push(`${name} ${framesBefore(error)}`)
  }
  return rows.join(', ')
}

function framesBefore({ stack }) {
  const frames = stack
    .split('\n')
    .filter((line) => /^ +at /.test(line) && !/node:internal|<anonymous>|native/.test(line))
  const index = frames.findIndex((line) => line.includes('stacks.js'))
  return index === -1 ? 'no' : index
}
