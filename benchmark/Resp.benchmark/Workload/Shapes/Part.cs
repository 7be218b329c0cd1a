using System.Text;

namespace RespBenchmark.Workload;

/// <summary>A piece of an argument: constant bytes, or a field.</summary>
internal readonly record struct Part(byte[]? Text, Field? Field)
{
    public static implicit operator Part(string text) => new(Encoding.UTF8.GetBytes(text), null);

    public static implicit operator Part(byte[] text) => new(text, null);

    public static implicit operator Part(Field field) => new(null, field);
}

/// <summary>An argument: parts that follow each other without a gap.</summary>
internal sealed class Argument(IReadOnlyList<Part> parts)
{
    public IReadOnlyList<Part> Parts => parts;

    public static implicit operator Argument(string text) => new([text]);

    public static implicit operator Argument(Field field) => new([field]);

    /// <summary>The same argument with the draws that this one makes.</summary>
    public Argument Again() =>
        new([.. Parts.Select(part => part.Field is null ? part : new SameField(part.Field))]);

    /// <summary>The field that is its number; null: it is constant.</summary>
    public Field? Field => Parts.FirstOrDefault(part => part.Field is not null).Field;
}
