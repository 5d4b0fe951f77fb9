package dev.redlock.resp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A command whose constant words are encoded once. The array header and the constant words form parts; an argument
 * stands between each part and the next.
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
 * SET.part(3, out);                        // nothing, here; the same code serves a template that ends in a word
 * }</pre>
 * Writing allocates nothing and copies each part with one call.
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
     * A command without arguments.
     *
     * @param words its words, written as UTF-8
     * @return the command; {@link #writeTo} writes all of it
     */
    public static RespCommand of(String... words) {
        return new Template().words(words).end();
    }

    /**
     * Starts a command with arguments.
     *
     * @param words its first words, written as UTF-8
     * @return a template to continue
     */
    public static Template template(String... words) {
        return new Template().words(words);
    }

    /**
     * Writes a command without arguments.
     *
     * @param out where to
     * @throws IllegalStateException if the command has arguments
     */
    public void writeTo(ByteBuf out) {
        if (parts.length != 1) {
            throw new IllegalStateException(argumentCount() + " arguments are missing; write part by part");
        }
        out.writeBytes(parts[0]);
    }

    /**
     * Writes the constant bytes before an argument, or those after the last one.
     *
     * @param index the argument's index from 0; {@link #argumentCount()} for what follows the last one
     * @param out   where to
     */
    public void part(int index, ByteBuf out) {
        out.writeBytes(parts[index]);
    }

    /**
     * How many arguments there are to write.
     *
     * @return arguments
     */
    public int argumentCount() {
        return parts.length - 1;
    }

    /**
     * How many words the array header announces.
     *
     * @return words, arguments included
     */
    public int wordCount() {
        return wordCount;
    }

    /**
     * How many bytes all constant parts take.
     *
     * @return bytes
     */
    public int constantLength() {
        return Arrays.stream(parts).mapToInt(part -> part.length).sum();
    }

    /**
     * Collects the words of a command. Use once.
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
         * @param words written as UTF-8
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
         * Adds an argument that the caller writes as a whole bulk string.
         *
         * @return this
         */
        public Template argument() {
            endPart();
            return this;
        }

        /**
         * Adds an argument that always has the same length: its length line goes to the part before it and its CRLF to
         * the part after it, and the caller writes the bare bytes.
         *
         * @param length bytes, at least 0
         * @return this
         */
        public Template argument(int length) {
            if (length < 0) {
                throw new IllegalArgumentException("an argument has no length of " + length);
            }
            ByteBufUtil.writeAscii(part, "$" + length + "\r\n");
            endPart();
            ByteBufUtil.writeAscii(part, "\r\n");
            return this;
        }

        /**
         * Ends the command.
         *
         * @return the command
         */
        public RespCommand end() {
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
