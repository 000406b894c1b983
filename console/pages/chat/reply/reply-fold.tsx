import { Loader, Text, UnstyledButton } from '@mantine/core'
import { ChevronRightIcon } from '@radix-ui/react-icons'
import { useId, useState, type ReactNode } from 'react'
import classes from './reply-fold.module.css'

type ReplyFoldProps = {
  title: ReactNode
  /** Text on the right, such as `No result`. */
  aside?: ReactNode
  isRunning?: boolean
  children: ReactNode
}

export function ReplyFold({ title, aside, isRunning = false, children }: ReplyFoldProps) {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  return (
    <div className={classes.fold}>
      <UnstyledButton
        className={classes.toggle}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        <ChevronRightIcon className={classes.arrow} aria-hidden />
        <span className={classes.title}>{title}</span>
        {isRunning && <Loader size={12} aria-hidden />}
        <Text component="span" size="sm" c="dimmed" className={classes.aside}>
          {aside}
        </Text>
      </UnstyledButton>
      <div id={id} hidden={!isOpen}>
        {isOpen && <div className={classes.content}>{children}</div>}
      </div>
    </div>
  )
}
