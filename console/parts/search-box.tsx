import { CloseButton, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { MagnifyingGlassIcon } from '@radix-ui/react-icons'
import { useEffect, useRef, useState } from 'react'
import { useSearchField } from './hooks/use-search-field.ts'

const waitMs = 250

type SearchBoxProps = { label: string; maxLength?: number }

/** Filters a list by text after a short pause in typing. The text is part of the page's URL. */
export function SearchBox({ label, maxLength = 254 }: SearchBoxProps) {
  const [search, setSearch] = useSearchField('search')
  const [text, setText] = useState(search)
  const sent = useRef(search)
  const box = useRef<HTMLInputElement>(null)
  const send = (value: string) => {
    sent.current = value.trim()
    setSearch(sent.current)
  }
  const sendSoon = useDebouncedCallback(send, waitMs)

  // Update the input if something else has changed the URL, such as the back button.
  useEffect(() => {
    if (search === sent.current) return
    sent.current = search
    setText(search)
  }, [search])

  const change = (value: string) => {
    setText(value)
    sendSoon(value)
  }
  return (
    <form
      role="search"
      style={{ width: 380, maxWidth: '100%' }}
      onSubmit={(event) => {
        event.preventDefault()
        sendSoon.cancel()
        send(text)
      }}
    >
      <TextInput
        ref={box}
        aria-label={label}
        placeholder={label}
        name="search"
        maxLength={maxLength}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        leftSection={<MagnifyingGlassIcon aria-hidden />}
        rightSection={
          text !== '' && (
            <CloseButton
              size="sm"
              aria-label="Clear search"
              onClick={() => {
                sendSoon.cancel()
                setText('')
                send('')
                box.current?.focus()
              }}
            />
          )
        }
        value={text}
        onChange={(event) => change(event.currentTarget.value)}
      />
    </form>
  )
}
