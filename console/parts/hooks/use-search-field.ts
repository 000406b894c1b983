import { useSearchParams } from 'wouter'

/** Stores a value in the URL query, so that filters and list pages survive a reload and the back button. */
export function useSearchField(name: string): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams()
  const set = (value: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        // A new filter resets the list to its first page.
        if (name !== 'offset') next.delete('offset')
        return next
      },
      { replace: name !== 'offset' },
    )
  return [params.get(name) ?? '', set]
}

/** Stores the offset of a list in the URL query, for `Pager`. */
export function useOffset(): [number, (offset: number) => void] {
  const [text, setText] = useSearchField('offset')
  const offset = /^\d{1,9}$/.test(text) ? Number(text) : 0
  return [offset, (next) => setText(next === 0 ? '' : String(next))]
}

/**
 * Returns the URL query with its question mark, or an empty string. Links from a list to an item and back pass it on, to
 * preserve the list's filters and page.
 */
export function useListQuery(): string {
  const [params] = useSearchParams()
  const text = params.toString()
  return text && `?${text}`
}

/** Stores a repeatable query parameter, such as a filter by several tags. */
export function useSearchList(name: string): [string[], (values: readonly string[]) => void] {
  const [params, setParams] = useSearchParams()
  const set = (values: readonly string[]) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        next.delete(name)
        next.delete('offset')
        for (const value of values) next.append(name, value)
        return next
      },
      { replace: true },
    )
  return [params.getAll(name), set]
}
