// Leaves the words out of a search that every page has: each word of a query counts, wherever it stands in a longer one.
const everywhere = new Set(
  'a an and are as at be by can do for from how i if in is it my of on or the to use what when with'.split(' '),
)

addEventListener('DOMContentLoaded', () => {
  const { get, set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')
  const field = document.getElementById('tsd-search-input')
  Object.defineProperty(field, 'value', { set, get: () => withoutCommonWords(get.call(field)) })
})

function withoutCommonWords(query) {
  const words = query.split(' ')
  const rest = words.filter((word) => !everywhere.has(word.toLowerCase()))
  return (rest.length > 0 ? rest : words).join(' ')
}
