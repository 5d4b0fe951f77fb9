package dev.redlock.spec;

import java.util.List;

/**
 * One step of a run. Its name is that of the predicate in {@code redlock.als}, {@code timed.als} or
 * {@code fencing.als}. As a line: the time in nanoseconds, the name, and words.
 *
 * @param atNs  when it happened, on the monotonic clock
 * @param name  the predicate
 * @param words the token or node and more, by the name
 */
public record Step(long atNs, String name, List<String> words) {

    public static Step of(long atNs, String name, Object... words) {
        String[] texts = new String[words.length];
        for (int i = 0; i < words.length; i++) {
            texts[i] = String.valueOf(words[i]);
        }
        return new Step(atNs, name, List.of(texts));
    }

    /** Reads a line. */
    public static Step parse(String line) {
        String[] parts = line.trim().split(" +");
        return new Step(Long.parseLong(parts[0]), parts[1], List.of(parts).subList(2, parts.length));
    }

    String word(int index) {
        return words.get(index);
    }

    /** An optional word; empty if there is none. */
    String last(int index) {
        return index < words.size() ? words.get(index) : "";
    }

    long number(int index) {
        return Long.parseLong(words.get(index));
    }

    @Override
    public String toString() {
        return atNs + " " + name + " " + String.join(" ", words);
    }
}
