package dev.redlock.resp;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * The inputs that earlier searches kept, one in Base64 per line: a file for each fuzz test, in the test resources. A
 * search starts from them, and writes the smallest set that reaches the same code back.
 */
final class FuzzCorpus {
    private FuzzCorpus() {
    }

    static Path file(Path module, String fuzzTest) {
        return module.resolve("src/test/resources/dev/redlock/resp/fuzz-corpus-" + fuzzTest + ".txt");
    }

    static List<byte[]> read(Path file) throws IOException {
        List<byte[]> inputs = new ArrayList<>();
        for (String line : Files.readAllLines(file, StandardCharsets.US_ASCII)) {
            inputs.add(Base64.getDecoder().decode(line));
        }
        return inputs;
    }

    /** Writes each input to a file of its own, as the fuzzer reads them. */
    static void unpack(Path file, Path folder) throws IOException {
        int index = 0;
        for (byte[] input : read(file)) {
            Files.write(folder.resolve("kept-" + index++), input);
        }
    }

    /** Writes the inputs of a folder to one file, in the order of their texts. */
    static void pack(Path folder, Path file) throws IOException {
        List<String> lines = new ArrayList<>();
        try (DirectoryStream<Path> inputs = Files.newDirectoryStream(folder)) {
            for (Path input : inputs) {
                lines.add(Base64.getEncoder().encodeToString(Files.readAllBytes(input)));
            }
        }
        lines.sort(null);
        Files.write(file, lines, StandardCharsets.US_ASCII);
    }
}
