import styles from "./States.module.css";

/** Takes the place of what is being loaded, in its size, so that nothing jumps when it comes. */
export function Skeleton({ width = "100%", height = "1rem" }: { width?: string; height?: string }) {
  return <span className={styles["bone"]} style={{ width, height }} aria-hidden="true" />;
}

export function SkeletonLines({ lines = 4, height = "2.25rem", label = "Loading" }: { lines?: number; height?: string; label?: string }) {
  return (
    <div className={styles["bones"]} role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <Skeleton key={index} height={height} />
      ))}
    </div>
  );
}
