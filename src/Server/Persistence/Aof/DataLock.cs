namespace Kv.Server.Persistence.Aof;

/// <summary>Keeps a second server off the folder of an append-only file: two that append to one file destroy
/// it.</summary>
/// <remarks>The system lets go of it when the process ends, however that is.</remarks>
internal sealed class DataLock : IDisposable
{
    private const string Name = "kv.lock";

    private readonly FileStream _file;

    private DataLock(FileStream file) => _file = file;

    /// <exception cref="AofException">Another server has it.</exception>
    public static DataLock Take(string folder)
    {
        Directory.CreateDirectory(folder);
        string path = Path.Combine(folder, Name);
        try
        {
            return new DataLock(new FileStream(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None));
        }
        catch (IOException exception)
        {
            throw new AofException($"{folder} is in use: another server has locked {path} ({exception.Message})");
        }
    }

    public void Dispose() => _file.Dispose();
}
