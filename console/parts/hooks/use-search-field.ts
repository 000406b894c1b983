import { useSearchParams } from 'wouter'

/** A field of the address's query, so that filters and pages survive a reload and the back button. */
export function useSearchField(name: string): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams()
  const set = (value: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        // Another filter starts at its first page.
        if (name !== 'offset') next.delete('offset')
        return next
      },
      { replace: name !== 'offset' },
    )
  return [params.get(name) ?? '', set]
}

/** The offset of a list in the address's query, for Pager. */
export function useOffset(): [number, (offset: number) => void] {
  const [text, setText] = useSearchField('offset')
  const offset = /^\d{1,9}$/.test(text) ? Number(text) : 0
  return [offset, (next) => setText(next === 0 ? '' : String(next))]
}

/** A field that may be there several times, as a filter by several tags. */
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
