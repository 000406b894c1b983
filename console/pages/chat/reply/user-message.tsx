import { Button, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'
import classes from './exchange-view.module.css'

const firstChars = 1200
const moreChars = 100_000

/** The user's message. It is shortened, so that a long pasted text does not push the reply out of view. */
export function UserMessage({ text }: { text: string }) {
  const [shownMax, setShownMax] = useState(firstChars)
  const isLonger = text.length > shownMax
  return (
    <div className={classes.message}>
      <VisuallyHidden>You wrote: </VisuallyHidden>
      {isLonger ? `${text.slice(0, shownMax).toWellFormed()}…` : text}
      {isLonger && (
        <div>
          <Button
            size="compact-sm"
            variant="default"
            mt={6}
            h="auto"
            styles={{ label: { whiteSpace: 'normal' } }}
            onClick={() => setShownMax(shownMax + moreChars)}
          >
            Show more of the {text.length.toLocaleString('en')} characters
          </Button>
        </div>
      )}
    </div>
  )
}
