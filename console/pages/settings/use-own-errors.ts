import { useEffect, useRef, useState, type RefObject } from 'react'

type Errors = Readonly<Record<string, string | undefined>>

type OwnErrors = {
  form: RefObject<HTMLFormElement | null>
  /** What the form itself finds wrong, by field. */
  own: Errors
  /** Takes what was found when the form was sent; whether that is nothing. */
  accept: (found: Errors) => boolean
  /** What is typed anew is not wrong any more. */
  clear: (fields: readonly string[]) => void
}

/** The errors that a form finds before the service is asked. The first wrong field takes the focus, whoever found it. */
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
