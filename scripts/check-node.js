// The project brings its own Node as a dependency. Where that did not come along, say so in one sentence.
if (Number(process.versions.node.split('.')[0]) < 22) {
  console.error(
    `Node ${process.versions.node} is too old (22 or later is needed): run \`npm ci\` with install scripts allowed, which installs the project's own.`,
  )
  process.exit(1)
}
