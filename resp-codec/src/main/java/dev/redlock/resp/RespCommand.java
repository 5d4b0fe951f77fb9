package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A command whose constant words are encoded once and written many times. The array header and the constant words form
 * parts. The caller writes an argument between each part and the next.
 * <pre>{@code
 * // SET <key> <token, 20 bytes> NX PX <ttl>
 * static final RespCommand SET =
 *         RespCommand.template("SET").argument().argument(20).words("NX", "PX").argument().end();
 *
 * SET.part(0, out);                        // *6 $3 SET
 * RespWriter.bulkString(out, key);
 * SET.part(1, out);                        // $20
 * out.writeBytes(token);                   // exactly 20 bytes, no header and no CRLF
 * SET.part(2, out);                        // CRLF of the token, $2 NX, $2 PX
 * RespWriter.bulkInteger(out, ttlMs);
 * SET.part(3, out);                        // empty here, because this template ends with an argument
 * }</pre>
 * Writing allocates nothing and copies each part with one call. Output buffers are borrowed and grow as needed.
 *
 * @threading immutable
 */
public final class RespCommand {
    private final byte[][] parts;
    private final int wordCount;

    private RespCommand(byte[][] parts, int wordCount) {
        this.parts = parts;
        this.wordCount = wordCount;
    }

    /**
     * Encodes a command without arguments.
     *
     * @param words the words of the command, encoded as UTF-8; at least one
     * @return the command; {@link #writeTo} writes all of it
     * @throws IllegalArgumentException if there is no word
     */
    public static RespCommand of(String... words) {
        return new Template().words(words).end();
    }

    /**
     * Starts a command with arguments.
     *
     * @param words the first words of the command, encoded as UTF-8
     * @return a template; add arguments and words, then call {@link Template#end()}
     */
    public static Template template(String... words) {
        return new Template().words(words);
    }

    /**
     * Writes a whole command that has no arguments.
     *
     * @param out borrowed; written at its writer index
     * @throws IllegalStateException if the command has arguments; nothing is written then
     */
    public void writeTo(ByteBuf out) {
        if (parts.length != 1) {
            throw new IllegalStateException(
                    "the command has " + argumentCount() + " arguments; write its parts and arguments in turn");
        }
        out.writeBytes(parts[0]);
    }

    /**
     * Writes the constant bytes before an argument, or those after the last argument.
     *
     * @param index the argument's index, from 0; {@link #argumentCount()} for the bytes after the last argument
     * @param out   borrowed; written at its writer index
     * @throws ArrayIndexOutOfBoundsException if there is no such part
     */
    public void part(int index, ByteBuf out) {
        out.writeBytes(parts[index]);
    }

    /**
     * The number of arguments that the caller writes.
     *
     * @return arguments, at least 0
     */
    public int argumentCount() {
        return parts.length - 1;
    }

    /**
     * The element count in the array header.
     *
     * @return constant words and arguments together
     */
    public int wordCount() {
        return wordCount;
    }

    /**
     * The encoded size of all constant parts, arguments excluded.
     *
     * @return bytes
     */
    public int constantLength() {
        return Arrays.stream(parts).mapToInt(part -> part.length).sum();
    }

    /**
     * Builds a command from constant words and arguments, in the order of the calls. Use each instance once.
     *
     * @threading caller-confined
     */
    public static final class Template {
        private final List<byte[]> parts = new ArrayList<>();
        private final ByteBuf part = Unpooled.buffer();
        private int wordCount;

        private Template() {
        }

        /**
         * Adds constant words.
         *
         * @param words encoded as UTF-8
         * @return this
         */
        public Template words(String... words) {
            for (String word : words) {
                RespWriter.bulkString(part, word);
                wordCount++;
            }
            return this;
        }

        /**
         * Adds an argument that the caller writes as a whole bulk string, length line and CRLF included.
         *
         * @return this
         */
        public Template argument() {
            endPart();
            return this;
        }

        /**
         * Adds an argument of fixed length. The part before it contains its length line, the part after it contains its
         * CRLF, and the caller writes only the content.
         *
         * @param length bytes of content, at least 0
         * @return this
         * @throws IllegalArgumentException if the length is negative
         */
        public Template argument(int length) {
            if (length < 0) {
                throw new IllegalArgumentException("length is " + length + "; it must be at least 0");
            }
            ByteBufUtil.writeAscii(part, "$" + length + "\r\n");
            endPart();
            ByteBufUtil.writeAscii(part, "\r\n");
            return this;
        }

        /**
         * Encodes the command.
         *
         * @return the command, ready to be written
         * @throws IllegalArgumentException if it has neither a word nor an argument: servers do not answer it
         */
        public RespCommand end() {
            if (wordCount == 0) {
                throw new IllegalArgumentException("a command has no word: give at least its name");
            }
            endPart();
            ByteBuf first = Unpooled.buffer();
            RespWriter.arrayHeader(first, --wordCount);
            first.writeBytes(parts.get(0));
            parts.set(0, ByteBufUtil.getBytes(first));
            return new RespCommand(parts.toArray(byte[][]::new), wordCount);
        }

        private void endPart() {
            parts.add(ByteBufUtil.getBytes(part));
            part.clear();
            wordCount++;
        }
    }
}
