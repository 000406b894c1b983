import { CloseButton, Text } from '@mantine/core'
import { FileTextIcon } from '@radix-ui/react-icons'
import { sizeText } from '../../../parts/text/size-text.ts'
import classes from './message-files.module.css'

export type ShownFile = {
  key: string
  name: string
  bytes: number
  image: string | undefined
  href: string | undefined
}

type MessageFilesProps = { files: readonly ShownFile[]; onRemove?: (key: string) => void }

export function MessageFiles({ files, onRemove }: MessageFilesProps) {
  return (
    <ul className={classes.files} aria-label="Files">
      {files.map(({ bytes, href, image, key, name }) => (
        <li key={key} className={classes.file}>
          {image === undefined ? (
            <span className={classes.icon}>
              <FileTextIcon aria-hidden />
            </span>
          ) : (
            <img className={classes.image} src={image} alt={name} loading="lazy" />
          )}
          <span className={classes.about}>
            {href === undefined ? (
              <Text size="sm" truncate title={name}>
                {name}
              </Text>
            ) : (
              <Text size="sm" truncate title={name} component="a" href={href} download={name}>
                {name}
              </Text>
            )}
            <Text size="xs" c="dimmed">
              {sizeText(bytes)}
            </Text>
          </span>
          {onRemove && <CloseButton size="sm" aria-label={`Remove ${name}`} onClick={() => onRemove(key)} />}
        </li>
      ))}
    </ul>
  )
}
