namespace RespBenchmark.Workload;

/// <summary>What is written next: constant bytes (also the headers of arguments of constant length), the header of an
/// argument whose length varies, or a field.</summary>
internal readonly struct Step
{
    /// <summary>Constant bytes; null: a header or a field.</summary>
    public byte[]? Text { get; private init; }

    /// <summary>The field's place among the unit's draws; −1: not a field.</summary>
    public int Place { get; private init; }

    /// <summary>Of a header: the constant bytes of its argument, and the places of its fields, which follow each
    /// other.</summary>
    public long ConstantBytes { get; private init; }

    public int FirstPlace { get; private init; }

    public int Places { get; private init; }

    public static Step OfText(byte[] text) => new() { Text = text, Place = -1 };

    public static Step OfField(int place) => new() { Place = place };

    public static Step OfHeader(long constantBytes, int firstPlace, int places) =>
        new() { Place = -1, ConstantBytes = constantBytes, FirstPlace = firstPlace, Places = places };
}
