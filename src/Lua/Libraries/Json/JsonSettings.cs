namespace Kv.Lua.Libraries.Json;

/// <summary>What a JSON module is told to do with what JSON does not have.</summary>
internal sealed class JsonSettings
{
    public const int DepthDefault = 1000, PrecisionMax = 14;

    /// <summary>Of infinities and NaN: refused, written as they are, written as null.</summary>
    public const int Off = 0, On = 1, Null = 2;

    private static readonly JsonSettings Fresh = new();

    public int SparseConvert { get; set; }
    public int SparseRatio { get; set; } = 2;
    public int SparseSafe { get; set; } = 10;
    public int EncodeDepthMax { get; set; } = DepthDefault;
    public int DecodeDepthMax { get; set; } = DepthDefault;
    public int KeepBuffer { get; set; } = On;       // asked for and told; here it changes nothing
    public int NumberPrecision { get; set; } = PrecisionMax;
    public int EncodeInvalidNumbers { get; set; } = Off;
    public int DecodeInvalidNumbers { get; set; } = On;

    /// <summary>As a new module has it.</summary>
    public void Reset()
    {
        (SparseConvert, SparseRatio, SparseSafe) = (Fresh.SparseConvert, Fresh.SparseRatio, Fresh.SparseSafe);
        (EncodeDepthMax, DecodeDepthMax) = (Fresh.EncodeDepthMax, Fresh.DecodeDepthMax);
        (KeepBuffer, NumberPrecision) = (Fresh.KeepBuffer, Fresh.NumberPrecision);
        (EncodeInvalidNumbers, DecodeInvalidNumbers) = (Fresh.EncodeInvalidNumbers, Fresh.DecodeInvalidNumbers);
    }
}
