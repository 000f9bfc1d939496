// The project installs its own Node as a dependency. If that is missing, an old Node would fail with confusing errors.
if (Number(process.versions.node.split('.')[0]) < 22) {
  console.error(
    `Node ${process.versions.node} is too old; 22 or later is required. Run \`npm ci\` with install scripts allowed to install the project's own Node.`,
  )
  process.exit(1)
}
