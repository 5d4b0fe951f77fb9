package dev.redlock.mutants;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** The classes of one mutated source file, and a class loader that has them in place of the right ones. */
public final class MutantClasses {
    /** One for all: it has read the class path, which takes longer than to compile a file. Guarded by this class. */
    private static StandardJavaFileManager files;

    private MutantClasses() {
    }

    /**
     * Compiles the mutated file.
     *
     * @param mutant the mutant
     * @param folder an empty folder
     * @return the folder of the classes
     */
    public static Path compile(Mutant mutant, Path folder) throws IOException {
        return compile(List.of(mutant), folder);
    }

    /**
     * Compiles mutants of different files at once, which takes little longer than one of them.
     *
     * @param mutants each of another file
     * @param folder  an empty folder
     * @return the folder of the classes
     */
    static synchronized Path compile(List<Mutant> mutants, Path folder) throws IOException {
        List<Path> sources = new ArrayList<>();
        for (Mutant mutant : mutants) {
            Path original = SourceFiles.path(mutant.file());
            Path source = folder.resolve(original.getFileName());
            Files.writeString(source, mutant.applyTo(Files.readString(original)), StandardOpenOption.CREATE_NEW);
            sources.add(source);
        }
        Path classes = Files.createDirectories(folder.resolve("classes"));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
        List<String> options = List.of("-d", classes.toString(), "-proc:none", "-nowarn", "-implicit:none", "-g",
                "-classpath", System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
        if (files == null) {
            files = compiler.getStandardFileManager(null, null, null);
        }
        if (!compiler.getTask(null, files, diagnostics, options, null, files.getJavaFileObjectsFromPaths(sources))
                .call()) {
            throw new IllegalStateException(
                    mutants.stream().map(Mutant::name).toList() + ": " + diagnostics.getDiagnostics());
        }
        return classes;
    }

    /** A loader with its own copy of every class of this project, without assertions. */
    public static ClassLoader loader(Path classes) {
        ClassLoader loader = new Loader(classes, MutantClasses.class.getClassLoader());
        loader.setDefaultAssertionStatus(false);
        return loader;
    }

    /** Looks into the folder, then takes the bytes from its parent. */
    private static final class Loader extends ClassLoader {
        private static final String OURS = "dev.redlock.";
        private final Path classes;

        Loader(Path classes, ClassLoader parent) {
            super(parent);
            this.classes = classes;
        }

        @Override
        protected Class<?> loadClass(String name, boolean isResolved) throws ClassNotFoundException {
            if (!name.startsWith(OURS)) {
                return super.loadClass(name, isResolved);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded == null ? define(name) : loaded;
            }
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            String resource = name.replace('.', '/') + ".class";
            Path mutated = classes.resolve(resource);
            try (InputStream in = Files.exists(mutated)
                    ? Files.newInputStream(mutated)
                    : getParent().getResourceAsStream(resource)) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }
}
