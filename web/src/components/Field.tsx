import { type InputHTMLAttributes, type ReactNode, type Ref, type SelectHTMLAttributes, type TextareaHTMLAttributes, useId } from "react";

import styles from "./Field.module.css";
import { Icon } from "./Icon";

interface Around {
  label: ReactNode;
  hint?: ReactNode;
  /** What is wrong with it; from a `Problem`: `problem.field("name")`. */
  error?: string | undefined;
  optional?: boolean;
  /** The label is only read aloud. */
  hideLabel?: boolean;
}

interface Given {
  id: string;
  className: string | undefined;
  "aria-invalid": boolean | undefined;
  "aria-describedby": string | undefined;
}

function Surround({ label, hint, error, optional, hideLabel, children }: Around & { children: (given: Given) => ReactNode }) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={styles["field"]}>
      <label htmlFor={id} className={hideLabel ? "visually-hidden" : styles["label"]}>
        {label} {optional && <span className={styles["optional"]}>(optional)</span>}
      </label>
      {children({ id, className: styles["control"], "aria-invalid": error ? true : undefined, "aria-describedby": described || undefined })}
      {hint && <span id={`${id}-hint`} className={styles["hint"]}>{hint}</span>}
      {error && (
        <span id={`${id}-error`} className={styles["error"]} role="alert">
          <Icon name="alert" size={13} /> {error}
        </span>
      )}
    </div>
  );
}

type Own<T> = Omit<T, "id" | "className">;

/** A labelled line of text, a password, a number, a date. */
export function Field({ label, hint, error, optional, hideLabel, ...input }: Around & Own<InputHTMLAttributes<HTMLInputElement>> & { ref?: Ref<HTMLInputElement> }) {
  return <Surround {...{ label, hint, error, optional, hideLabel }}>{(given) => <input {...given} {...input} />}</Surround>;
}

export function TextArea({ label, hint, error, optional, hideLabel, ...input }: Around & Own<TextareaHTMLAttributes<HTMLTextAreaElement>>) {
  return <Surround {...{ label, hint, error, optional, hideLabel }}>{(given) => <textarea {...given} {...input} />}</Surround>;
}

/** The browser's own select: it is what phones and screen readers know best. */
export function Select({ label, hint, error, optional, hideLabel, children, ...input }: Around & Own<SelectHTMLAttributes<HTMLSelectElement>>) {
  return (
    <Surround {...{ label, hint, error, optional, hideLabel }}>
      {(given) => (
        <select {...given} {...input}>
          {children}
        </select>
      )}
    </Surround>
  );
}

export function Checkbox({ label, ...input }: { label: ReactNode } & Own<InputHTMLAttributes<HTMLInputElement>>) {
  const id = useId();
  return (
    <div className={styles["check"]}>
      <input type="checkbox" id={id} {...input} />
      <label htmlFor={id}>{label}</label>
    </div>
  );
}
