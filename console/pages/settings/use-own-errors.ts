import { useEffect, useRef, useState, type RefObject } from 'react'

type Errors = Readonly<Record<string, string | undefined>>

type OwnErrors = {
  form: RefObject<HTMLFormElement | null>
  own: Errors
  /** Sets the errors found on submit. Returns true if there are none. */
  accept: (found: Errors) => boolean
  clear: (fields: readonly string[]) => void
}

/**
 * Manages errors that a form finds before it sends a request. Focuses the first invalid field, whether the form or the
 * service found the error.
 */
export function useOwnErrors(refusal: unknown): OwnErrors {
  const form = useRef<HTMLFormElement>(null)
  const [own, setOwn] = useState<Errors>({})
  const [tries, setTries] = useState(0)
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [refusal, tries])
  return {
    form,
    own,
    accept: (found) => {
      setOwn(found)
      setTries(tries + 1)
      return Object.keys(found).length === 0
    },
    clear: (fields) => {
      if (fields.some((field) => own[field] !== undefined)) {
        setOwn(Object.fromEntries(Object.entries(own).filter(([field]) => !fields.includes(field))))
      }
    },
  }
}
